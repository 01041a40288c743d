import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/** A program that a test started and that must not outlive it. */
export interface Child {
  pid: number
  /** Standard output and standard error so far. */
  logs(): string
  /** Whether it has gone. */
  gone(): boolean
  /** Resolves when it has gone, whoever ended it: its exit code, null after a signal. */
  ended: Promise<number | null>
  kill(signal: NodeJS.Signals): void
  /** Sends the signal (SIGTERM), then SIGKILL after 15 s; resolves to the exit code. Harmless when it has gone already. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

const stopWithin = 15_000

/** Process groups that still run: a killed nginx or PHP master would leave its workers behind. */
const groups = new Set<number>()

function killGroup(pid: number | undefined): void {
  // Group 0 would be our own.
  if (!pid) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has gone already.
  }
}

process.once('exit', () => groups.forEach((pid) => killGroup(pid)))
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  // Without a handler a signal ends the process with no `exit` event, and the children live on.
  process.once(signal, () => process.exit(code))
}

/** Starts a program, with a file descriptor of ours as its fourth (`handOver`); `ready` is asked every 25 ms until it says so. Throws with the program's log where it ends or 30 s pass before that. */
export async function startChild(
  argv: readonly [string, ...string[]],
  options: {
    cwd?: string
    env?: NodeJS.ProcessEnv
    ready(logs: string): boolean | Promise<boolean>
    within?: number
    handOver?: number
  },
): Promise<Child> {
  const [file, ...args] = argv
  const { ready, within = 30_000, handOver, ...spawnOptions } = options
  const child = spawn(file, args, {
    ...spawnOptions,
    stdio: ['ignore', 'pipe', 'pipe', ...(handOver === undefined ? [] : [handOver])],
    detached: true,
  })
  if (child.pid !== undefined) groups.add(child.pid)
  let text = ''
  let gone = false
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk))
  const ended = new Promise<number | null>((resolve) => {
    const end = (code: number | null) => {
      gone = true
      if (child.pid !== undefined) groups.delete(child.pid)
      resolve(code)
    }
    child.once('error', (error) => {
      text += `${error}\n`
      if (child.pid === undefined) end(null)
    })
    // Workers that outlive their master hold its output open: without this there would be no `close`.
    child.once('exit', () => killGroup(child.pid))
    child.once('close', end)
  })
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (!gone) child.kill(signal)
    const exited = new AbortController()
    void sleep(stopWithin, undefined, { signal: exited.signal }).then(
      () => killGroup(child.pid),
      () => {},
    )
    const code = await ended
    exited.abort()
    return code
  }
  const started: Child = {
    pid: child.pid ?? 0,
    logs: () => text,
    gone: () => gone,
    ended,
    kill: (signal) => void child.kill(signal),
    stop,
  }
  await untilReady(started, argv.join(' '), ready, within)
  return started
}

async function untilReady(
  child: Child,
  name: string,
  ready: (logs: string) => boolean | Promise<boolean>,
  within: number,
): Promise<void> {
  const deadline = performance.now() + within
  while (!(await ready(child.logs()))) {
    const late = performance.now() > deadline
    if (!child.gone() && !late) {
      await sleep(25)
      continue
    }
    const code = await child.stop()
    throw new Error(
      `${name} ${late ? `was not ready within ${within / 1000} s` : `ended (${code}) before it was ready`}:\n${child.logs()}`,
    )
  }
}

/** Whether an HTTP server answers this URL with the status. */
export async function answers(url: string, status = 200): Promise<boolean> {
  return await fetch(url, { signal: AbortSignal.timeout(2_000), redirect: 'manual' }).then(
    async (response) => (await response.arrayBuffer(), response.status === status),
    () => false,
  )
}
