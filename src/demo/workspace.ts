import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { PagecacheError } from '../errors.ts'

/** A temporary directory and the processes that work in it; both are gone after `close`, whatever happens. */
export class Workspace {
  readonly #directory: string
  readonly #variables: NodeJS.ProcessEnv
  readonly #children = new Set<ChildProcess>()
  /** Where even the demo's own end is not waited for: nothing that it started may outlive it. */
  readonly #lastResort = () => {
    for (const child of this.#children) child.kill('SIGKILL')
    // A program that was ended a moment ago may still be writing there.
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 10 })
  }

  /** `directory` is every process's working directory and is removed at the end. */
  constructor(directory: string, variables: Readonly<Record<string, string | undefined>>) {
    this.#directory = directory
    // What steers the operator's own cache must not steer the demo's.
    const inherited = Object.entries(variables).filter(([name]) => !/^(?:PAGECACHE_|APP_ENV$)/.test(name))
    this.#variables = Object.fromEntries(inherited)
    process.once('exit', this.#lastResort)
  }

  /**
   * Starts a Node program that stays; `isReady` is asked with its standard output so far, several times a second.
   * Throws PagecacheError CHECK_FAILED where it ends or 20 s pass before it is ready.
   */
  async start(
    argv: readonly string[],
    signal: AbortSignal,
    isReady: (printed: string) => boolean | Promise<boolean>,
  ): Promise<string> {
    const child = this.#spawn([...endWithParent, ...argv], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    let printed = ''
    let complaints = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => void (printed = (printed + text).slice(-kept)))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => void (complaints = (complaints + text).slice(-kept)))
    const deadline = performance.now() + startWithin
    while (!(await isReady(printed))) {
      signal.throwIfAborted()
      if (hasEnded(child) || performance.now() > deadline) {
        const what = hasEnded(child)
          ? `ended with ${child.exitCode ?? child.signalCode}`
          : `was not ready within ${startWithin / 1000} s`
        throw new PagecacheError('CHECK_FAILED', `${nameOf(argv)} ${what}.\n${complaints || printed}`.trimEnd())
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return printed
  }

  /**
   * Runs a Node program to its end, its errors on our stderr and its output on the given descriptor of ours. Aborted, it is
   * ended at once and without a word: what it works on goes with the directory, and who aborted is told once, by us.
   * Throws PagecacheError CHECK_FAILED where it does not end with 0.
   */
  async run(argv: readonly string[], signal: AbortSignal, output: 1 | 2): Promise<void> {
    signal.throwIfAborted()
    // In a process group of its own, because Ctrl-C at a terminal is sent to all of ours.
    const child = this.#spawn(argv, { stdio: ['ignore', output, 2], detached: true })
    const interrupt = () => void child.kill('SIGKILL')
    signal.addEventListener('abort', interrupt, { once: true })
    try {
      await ended(child)
    } finally {
      signal.removeEventListener('abort', interrupt)
    }
    signal.throwIfAborted()
    if (child.exitCode !== 0) {
      throw new PagecacheError('CHECK_FAILED', `${nameOf(argv)} ended with ${child.exitCode ?? child.signalCode}.`)
    }
  }

  /** Runs a Node program to its end and hands back what it printed on standard output, whatever its exit code. */
  async read(argv: readonly string[]): Promise<string> {
    const child = this.#spawn(argv, { stdio: ['ignore', 'pipe', 'ignore'] })
    let printed = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => void (printed += text))
    await new Promise<void>((resolve) => child.once('close', () => resolve()).once('error', () => resolve()))
    return printed
  }

  /** Stops what still runs, the last started first, and removes the directory. */
  async close(): Promise<void> {
    for (const child of [...this.#children].toReversed()) {
      child.kill('SIGTERM')
      const impatience = setTimeout(() => child.kill('SIGKILL'), stopWithin)
      await ended(child)
      clearTimeout(impatience)
    }
    // Not rmSync: it stops without a word where something else (a clear's background removal) deletes in there too.
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 5 })
    process.off('exit', this.#lastResort)
  }

  #spawn(argv: readonly string[], options: Pick<SpawnOptions, 'stdio' | 'detached'>): ChildProcess {
    const child = spawn(process.execPath, argv, { cwd: this.#directory, env: this.#variables, ...options })
    this.#children.add(child)
    void ended(child).then(() => this.#children.delete(child))
    return child
  }
}

/** Loaded before a program that stays, and before its threads, which have no channel: it closes when we are gone, however that came. */
const endWithParent = [
  '--import',
  "data:text/javascript,process.once('disconnect', () => process.kill(process.pid, 'SIGTERM')); process.channel?.unref()",
]

/** Characters of a helper's output that are kept for the message when it fails. */
const kept = 8_000
/** Milliseconds. */
const startWithin = 20_000
const stopWithin = 5_000

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

async function ended(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
}

function nameOf(argv: readonly string[]): string {
  return argv.map((part) => part.replace(/^.*[\\/]/, '')).join(' ')
}
