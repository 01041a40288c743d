import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { randomInt } from 'node:crypto'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { answers, startChild } from './child.ts'
import { runCommand } from './commands.ts'
import { environment, type CommandResult } from './environment.ts'
import { scratch } from './scratch.ts'

export const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

export interface DaemonOptions {
  /** `stop()` leaves it in place. By default a temporary directory, which `stop()` removes. */
  projectDir?: string
  /** Written to `pagecache.yaml` together with `server.host` and `server.port`. A function receives the daemon's own URL. */
  config?: Record<string, unknown> | ((url: string) => Record<string, unknown>)
  /** Added after `serve`, for example `['--origin', origin.url]`. */
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** A free port by default. A test that restarts a daemon passes the port of the first one. */
  port?: number
  /** Command to run the program with, for example `['taskset', '-c', '0']`. */
  prefix?: readonly string[]
  /** Another build's `bin/run.js`. */
  program?: string
}

export interface Daemon {
  url: string
  host: string
  port: number
  pid: number
  projectDir: string
  /** Standard output and standard error so far. */
  logs(): string
  /** Runs a command of the same build in the same project directory, in a process that runs other commands too. */
  run(...args: string[]): Promise<CommandResult>
  kill(signal: NodeJS.Signals): void
  /** Resolves when the process has exited, for any reason, to its exit code; null after a signal. */
  ended: Promise<number | null>
  /** Sends SIGTERM, then SIGKILL after a while, and resolves to the exit code. Does nothing if the process has already exited. */
  stop(): Promise<number | null>
}

/** Starts the built `bin/run.js serve` on 127.0.0.1 and waits until `/readyz` answers 200. Throws with its log if it exits first. */
export async function startDaemon(options: DaemonOptions = {}): Promise<Daemon> {
  const own = options.projectDir === undefined ? await scratch('pagecache') : null
  const projectDir = options.projectDir ?? own?.path ?? ''
  const port = options.port ?? (await freePort())
  const url = `http://127.0.0.1:${port}`
  const config = typeof options.config === 'function' ? options.config(url) : (options.config ?? {})
  const server = { ...(config['server'] as object | undefined), host: '127.0.0.1', port }
  await writeFile(join(projectDir, 'pagecache.yaml'), stringify({ ...config, server }))

  // Set by vitest.config.ts; benchmarks start daemons as delivered.
  const node = process.env['PAGECACHE_TEST_NODE_OPTIONS']?.split(' ') ?? []
  const start = [process.execPath, ...node, options.program ?? program, 'serve']
  const argv = [...(options.prefix ?? []), ...start, ...(options.args ?? [])] as unknown as [string]
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
    run: (...args) => runCommand(args, projectDir, options.env),
    kill: child.kill,
    ended: child.ended,
    async stop() {
      const code = await child.stop()
      await own?.discard()
      return code
    },
  }
}

/** Runs one command of the built program in a process of its own. */
export async function runProgram(
  args: readonly string[],
  options: {
    projectDir: string
    env?: Readonly<Record<string, string>>
    input?: string
    prefix?: readonly string[]
    program?: string
  },
): Promise<CommandResult> {
  const env = environment(options.projectDir, options.env)
  const [file = '', ...rest] = [...(options.prefix ?? []), process.execPath, options.program ?? program, ...args]
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
 * A free port of 127.0.0.1 that no other test gets while this process runs. It lies below the ports that systems assign to outgoing
 * connections and to port 0: another program could take one of those before the program under test listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000)
    // Linux removes a name in the abstract namespace together with the process that holds it.
    const reservation = await listen({ path: `\0pagecache-test-port-${port}` })
    if (reservation === null) continue
    if (await isFree(port)) {
      reservation.unref()
      return port
    }
    reservation.close()
  }
}

/** Whether nothing listens on this port of the loopback address. */
export async function isFree(port: number): Promise<boolean> {
  const probe = await listen({ host: '127.0.0.1', port })
  if (probe) await new Promise((resolve) => probe.close(resolve))
  return probe !== null
}

/** A server that listens there; null if the address is taken. */
async function listen(address: ListenOptions): Promise<Server | null> {
  const server = createServer()
  return await new Promise((resolve) => {
    server.once('error', () => resolve(null))
    server.listen(address, () => resolve(server))
  })
}
