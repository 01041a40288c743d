import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { answers, startChild } from './child.ts'
import { scratch } from './scratch.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

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
  const own = options.projectDir === undefined ? await scratch('pagecache') : null
  const projectDir = options.projectDir ?? own?.path ?? ''
  const port = options.port ?? (await freePort())
  const url = `http://127.0.0.1:${port}`
  const config = typeof options.config === 'function' ? options.config(url) : (options.config ?? {})
  const server = { ...(config['server'] as object | undefined), host: '127.0.0.1', port }
  await writeFile(join(projectDir, 'pagecache.yaml'), stringify({ ...config, server }))

  const argv = [...(options.prefix ?? []), process.execPath, program, 'serve', ...(options.args ?? [])] as [string]
  const child = await startChild(argv, {
    env: environment(projectDir, options.env),
    cwd: projectDir,
    ready: () => answers(`${url}/readyz`),
  }).catch(async (error: unknown) => {
    await own?.discard()
    throw error
  })
  return {
    url,
    host: `127.0.0.1:${port}`,
    port,
    pid: child.pid,
    projectDir,
    logs: child.logs,
    run: (...args) => runProgram(args, { projectDir, ...(options.env ? { env: options.env } : {}) }),
    kill: child.kill,
    ended: child.ended,
    async stop() {
      const code = await child.stop()
      await own?.discard()
      return code
    },
  }
}

/** Runs one command of the built program to its end. */
export async function runProgram(
  args: readonly string[],
  options: { projectDir: string; env?: Readonly<Record<string, string>>; input?: string; prefix?: readonly string[] },
): Promise<CommandResult> {
  const env = environment(options.projectDir, options.env)
  const [file = '', ...rest] = [...(options.prefix ?? []), process.execPath, program, ...args]
  const child = spawn(file, rest, { env, cwd: options.projectDir })
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

/**
 * A port of 127.0.0.1 that was free a moment ago. Below those that systems give to outgoing connections and to port 0: one of these
 * could be taken by another test before the program that it is for listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000)
    const probe = createServer()
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
    })
    if (free) return port
  }
}

/** The caller's environment without what would steer the program from outside the test. */
export function environment(projectDir: string, extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(PAGECACHE_|APP_ENV$|NODE_OPTIONS$)/.test(name))
  return { ...Object.fromEntries(inherited), NO_COLOR: '1', PAGECACHE_PROJECT_DIR: projectDir, ...extra }
}
