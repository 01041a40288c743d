import { spawn } from 'node:child_process'
import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** A program that a test started. It ends with the test process. */
export interface Child {
  pid: number
  /** Standard output and standard error so far. */
  logs(): string
  /** Whether it has exited. */
  gone(): boolean
  /** Resolves when it has exited, for any reason, to its exit code; null after a signal. */
  ended: Promise<number | null>
  kill(signal: NodeJS.Signals): void
  /** Sends the signal (default: SIGTERM), then SIGKILL after a minute, and resolves to the exit code. Does nothing if it has already exited. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

const stopWithin = 60_000

/** Running process groups: a killed nginx or PHP master would leave its workers behind. */
const groups = new Set<number>()

function killGroup(pid: number | undefined): void {
  // Group 0 is the test's own.
  if (!pid) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has already exited.
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

/** Starts a program and waits until `ready` returns true. `handOver`: a file descriptor of this process that the program gets as its fourth. Throws with the program's log if it exits first or is not ready in time. */
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
  const { ready, within = 120_000, handOver, ...spawnOptions } = options
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
  const began = performance.now()
  const deadline = began + within
  while (!(await ready(child.logs()))) {
    const late = performance.now() > deadline
    if (!child.gone() && !late) {
      await sleep(Math.min(10 + (performance.now() - began) / 10, 100))
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
  return await new Promise((resolve) => {
    // Loading `fetch` takes longer than this.
    const request = get(url, { agent: false, timeout: 2_000 }, (response) => {
      response.resume()
      response.once('close', () => resolve(response.complete && response.statusCode === status))
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(false))
  })
}
