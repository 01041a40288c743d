import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { PagecacheError } from '../errors.ts'

/** A temporary directory and the processes that run in it. `close` ends the processes and removes the directory. */
export class Workspace {
  readonly #directory: string
  readonly #variables: NodeJS.ProcessEnv
  readonly #children = new Set<ChildProcess>()
  /** Runs if the process exits without `close`: nothing that the demo started may outlive it. */
  readonly #lastResort = () => {
    for (const child of this.#children) child.kill('SIGKILL')
    // A program that was just killed may still be writing files.
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 10 })
  }

  /** @param directory working directory of all processes; removed by `close` */
  constructor(directory: string, variables: Readonly<Record<string, string | undefined>>) {
    this.#directory = directory
    // Settings of the operator's own cache must not affect the demo.
    const inherited = Object.entries(variables).filter(([name]) => !/^(?:PAGECACHE_|APP_ENV$)/.test(name))
    this.#variables = Object.fromEntries(inherited)
    process.once('exit', this.#lastResort)
  }

  /**
   * Starts a long-running Node program and waits until `isReady`, which gets the standard output so far, returns true. Throws
   * CHECK_FAILED if the program exits first or is not ready within two minutes.
   */
  async start(
    argv: readonly string[],
    signal: AbortSignal,
    isReady: (printed: string) => boolean | Promise<boolean>,
  ): Promise<string> {
    const child = this.#spawn([...endWithParent, ...argv], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    let printed = ''
    let errors = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => void (printed = (printed + text).slice(-maxOutput)))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => void (errors = (errors + text).slice(-maxOutput)))
    const deadline = performance.now() + startTimeout
    while (!(await isReady(printed))) {
      signal.throwIfAborted()
      if (hasExited(child) || performance.now() > deadline) {
        const what = hasExited(child)
          ? `exited with ${child.exitCode ?? child.signalCode}`
          : `was not ready within ${startTimeout / 1000} s`
        throw new PagecacheError('CHECK_FAILED', `${nameOf(argv)} ${what}.\n${errors || printed}`.trimEnd())
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return printed
  }

  /**
   * Runs a Node program to its end, with its errors on our stderr and its output on the given descriptor. If `signal` is aborted, the
   * program is killed silently: its files are removed anyway, and only the demo itself reports the interrupt. Throws CHECK_FAILED if
   * the exit code is not 0.
   */
  async run(argv: readonly string[], signal: AbortSignal, output: 1 | 2): Promise<void> {
    signal.throwIfAborted()
    // A separate process group, because a terminal sends Ctrl-C to the whole group.
    const child = this.#spawn(argv, { stdio: ['ignore', output, 2], detached: true })
    const interrupt = () => void child.kill('SIGKILL')
    signal.addEventListener('abort', interrupt, { once: true })
    try {
      await waitForExit(child)
    } finally {
      signal.removeEventListener('abort', interrupt)
    }
    signal.throwIfAborted()
    if (child.exitCode !== 0) {
      throw new PagecacheError('CHECK_FAILED', `${nameOf(argv)} exited with ${child.exitCode ?? child.signalCode}.`)
    }
  }

  /** Runs a Node program to its end and returns its standard output, whatever its exit code. */
  async read(argv: readonly string[]): Promise<string> {
    const child = this.#spawn(argv, { stdio: ['ignore', 'pipe', 'ignore'] })
    let printed = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => void (printed += text))
    await new Promise<void>((resolve) => child.once('close', () => resolve()).once('error', () => resolve()))
    return printed
  }

  /** Stops running processes, the last started first, and removes the directory. */
  async close(): Promise<void> {
    for (const child of [...this.#children].toReversed()) {
      child.kill('SIGTERM')
      const killTimer = setTimeout(() => child.kill('SIGKILL'), stopTimeout)
      await waitForExit(child)
      clearTimeout(killTimer)
    }
    // Not rmSync: it stops silently if another process (the background removal after a clear) deletes files there too.
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 5 })
    process.off('exit', this.#lastResort)
  }

  #spawn(argv: readonly string[], options: Pick<SpawnOptions, 'stdio' | 'detached'>): ChildProcess {
    const child = spawn(process.execPath, argv, { cwd: this.#directory, env: this.#variables, ...options })
    this.#children.add(child)
    void waitForExit(child).then(() => this.#children.delete(child))
    return child
  }
}

/** Loaded before a long-running program: ends it when this process is gone, which closes the IPC channel. Threads have no channel. */
const endWithParent = [
  '--import',
  "data:text/javascript,process.once('disconnect', () => process.kill(process.pid, 'SIGTERM')); process.channel?.unref()",
]

/** Characters of a program's output kept for the error message. */
const maxOutput = 8_000
/** Milliseconds. */
const startTimeout = 120_000
const stopTimeout = 5_000

function hasExited(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

async function waitForExit(child: ChildProcess): Promise<void> {
  if (hasExited(child)) return
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
}

function nameOf(argv: readonly string[]): string {
  return argv.map((part) => part.replace(/^.*[\\/]/, '')).join(' ')
}
