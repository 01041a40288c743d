import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { request } from './commands.ts'
import { recordsVariable } from './environment.ts'

const bin = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

export interface CliResult {
  /** The exit code; null if a signal ended the process. */
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface CliOptions {
  cwd?: string
  /** Added to a bare environment, so that a developer's own settings (colours, PAGECACHE_*) reach no test. */
  env?: Record<string, string>
  /** Sent to standard input, which is then closed. */
  input?: string
  /** The user to run as. Only root can set it. */
  uid?: number
  /** In a new process, for tests of its start, end and streams. By default in one that other commands run in too. */
  alone?: boolean
}

/** Whether another user can read the checkout, and thus run the command line. */
export function canRunAs(uid: number): boolean {
  return spawnSync(process.execPath, [bin, '--version'], { uid, gid: uid, env: { HOME: '/' } }).status === 0
}

/** Runs the built command line until it exits. */
export async function run(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const alone = options.alone || options.input !== undefined || options.uid !== undefined
  if (!alone) return { signal: null, ...(await request({ args, ...surroundings(options) })) }
  const child = start(args, options)
  child.stdin.end(options.input ?? '')
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (...ended) => resolve(ended))
  })
  return { code, signal, stdout, stderr }
}

/** Starts the built command line and leaves it running. The caller ends it. */
export function start(args: readonly string[], options: CliOptions = {}) {
  return spawn(process.execPath, [bin, ...args], {
    ...surroundings(options),
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  })
}

function surroundings(options: CliOptions): { cwd: string; env: Record<string, string> } {
  const { PATH = '', HOME = '', TMPDIR = '/tmp' } = process.env
  return { cwd: options.cwd ?? process.cwd(), env: { PATH, HOME, TMPDIR, ...recordsVariable(), ...options.env } }
}
