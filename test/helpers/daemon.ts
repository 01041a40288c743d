import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const readyWithin = 30_000
const stopWithin = 15_000

export interface DaemonOptions {
  /** Left in place by `stop()`; without it a temporary directory is made and removed. */
  projectDir?: string
  /** Written as `pagecache.yaml`; a function is given the daemon's own URL. `server.host` and `.port` are added. */
  config?: Record<string, unknown> | ((url: string) => Record<string, unknown>)
  /** Added after `serve`, for example `['--origin', origin.url]`. */
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** A free one without it. A test that restarts a daemon passes the old one. */
  port?: number
  /** Put before the program, for example `['taskset', '-c', '0']`. */
  prefix?: readonly string[]
}

export interface CommandResult {
  code: number | null
  stdout: string
  stderr: string
}

export interface Daemon {
  url: string
  host: string
  port: number
  pid: number
  projectDir: string
  /** Standard output and standard error so far. */
  logs(): string
  /** Runs a command of the same build in the same project directory. */
  run(...args: string[]): Promise<CommandResult>
  kill(signal: NodeJS.Signals): void
  /** Resolves when the process has gone, whoever ended it: its exit code, null after a signal. */
  ended: Promise<number | null>
  /** SIGTERM, then SIGKILL after a while; resolves to the exit code. Harmless when it has gone already. */
  stop(): Promise<number | null>
}

/** Starts the built `bin/run.js serve` on 127.0.0.1 and waits until `/readyz` answers 200; throws with its log where it ends before that. */
export async function startDaemon(options: DaemonOptions = {}): Promise<Daemon> {
  const projectDir = options.projectDir ?? (await mkdtemp(join(tmpdir(), 'pagecache-')))
  const port = options.port ?? (await freePort())
  const url = `http://127.0.0.1:${port}`
  const config = typeof options.config === 'function' ? options.config(url) : (options.config ?? {})
  const server = { ...(config['server'] as object | undefined), host: '127.0.0.1', port }
  await writeFile(join(projectDir, 'pagecache.yaml'), stringify({ ...config, server }))

  const env = environment(projectDir, options.env)
  const [file = process.execPath, ...prefix] = [...(options.prefix ?? []), process.execPath]
  const child = spawn(file, [...prefix, program, 'serve', ...(options.args ?? [])], { env, cwd: projectDir })
  const output = gather(child)
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  // The process that started it may be ended by a failing test run; nothing stays behind then.
  const reap = () => void child.kill('SIGKILL')
  process.once('exit', reap)
  const stop = async () => {
    child.kill('SIGTERM')
    const hung = new AbortController()
    void sleep(stopWithin, undefined, { signal: hung.signal }).then(() => child.kill('SIGKILL'), () => {})
    const code = await ended
    hung.abort()
    process.off('exit', reap)
    if (options.projectDir === undefined) await rm(projectDir, { recursive: true, force: true, maxRetries: 5 })
    return code
  }
  try {
    await untilReady(url, child, output)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url,
    host: `127.0.0.1:${port}`,
    port,
    pid: child.pid ?? 0,
    projectDir,
    logs: output,
    run: (...args) => runProgram(args, { projectDir, ...(options.env ? { env: options.env } : {}) }),
    kill: (signal) => void child.kill(signal),
    ended,
    stop,
  }
}

/** Runs one command of the built program to its end. */
export async function runProgram(
  args: readonly string[],
  options: { projectDir: string; env?: Readonly<Record<string, string>>; input?: string },
): Promise<CommandResult> {
  const env = environment(options.projectDir, options.env)
  const child = spawn(process.execPath, [program, ...args], { env, cwd: options.projectDir })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text))
  child.stdin.end(options.input ?? '')
  return await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise<void>((resolve) => probe.close(() => resolve()))
  return port
}

/** The caller's environment without what would steer the program from outside the test. */
function environment(projectDir: string, extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(PAGECACHE_|APP_ENV$|NODE_OPTIONS$)/.test(name))
  return { ...Object.fromEntries(inherited), NO_COLOR: '1', PAGECACHE_PROJECT_DIR: projectDir, ...extra }
}

function gather(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => void (text += chunk))
  }
  child.on('error', (error) => void (text += `${error}\n`))
  return () => text
}

async function untilReady(url: string, child: ChildProcess, logs: () => string): Promise<void> {
  const deadline = performance.now() + readyWithin
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
      throw new Error(`serve ended before it was ready (exit ${child.exitCode ?? child.signalCode}):\n${logs()}`)
    }
    const ready = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      async (answer) => (await answer.text(), answer.status === 200),
      () => false,
    )
    if (ready) return
    await sleep(25)
  }
  throw new Error(`serve was not ready within ${readyWithin / 1000} s:\n${logs()}`)
}
