import { Worker } from 'node:worker_threads'
import { fromMessage, PagecacheError } from '../errors.ts'
import type { PageStore, SharedRemoval } from '../pages/page-store.ts'
import type { Invalidated, Target } from './invalidation.ts'
import type { FromThread, PurgerAnswer, PurgerData, PurgerTask, ToThread } from './purger-messages.ts'
import type { Purging } from './purging.ts'

/** Purges that wait beyond this are refused: a disk that hangs must not fill the memory. */
const mostWaiting = 2_000
/** The same in characters of tags and URLs. */
const mostCharacters = 32 * 1024 * 1024
/** A thread that broke is followed by another one so long later, in milliseconds. */
const restartDelay = 1_000

/** Beside this file as source, and under its own name in dist/, where this file is in a chunk. */
const program = import.meta.url.endsWith('.ts') ? './purger-main.ts' : '../purge/purger-main.js'

export interface PurgerOptions extends Omit<PurgerData, 'endedThreads'> {
  /** The page store of the thread that serves visitors. */
  pages: Pick<PageStore, 'poll' | 'handOver'>
  onError(message: string, error: unknown): void
}

/**
 * Opens the purges of a process that serves visitors: a thread does the work, so that no visitor waits for it. Resolves when what a
 * killed process left behind is carried out.
 * @throws what opening the records and the pages throws
 */
export async function openPurger(options: PurgerOptions): Promise<Purging> {
  const purger = new Purger(options)
  await purger.start()
  options.pages.handOver({
    remove: (removal) => purger.ask({ kind: 'remove', removal }) as Promise<number>,
    cleanUp: () => void purger.ask({ kind: 'cleanUp' }).catch(() => {}),
  })
  return {
    invalidate: (invalidation) => purger.ask({ kind: 'invalidate', invalidation }) as Promise<Invalidated>,
    catchUp: () => purger.ask({ kind: 'catchUp' }) as Promise<number>,
    async close() {
      options.pages.handOver(null)
      await purger.close()
    },
  }
}

interface Waiting {
  characters: number
  promise: Promise<Invalidated | number>
  resolve(value: Invalidated | number): void
  reject(error: unknown): void
}

class Purger {
  readonly #options: PurgerOptions
  readonly #endedThreads: number[] = []
  readonly #waiting = new Map<number, Waiting>()
  #outbox: { id: number; task: PurgerTask }[] = []
  #characters = 0
  #last = 0
  #worker: Worker | null = null
  #closing: Promise<void> | null = null
  #restart: NodeJS.Timeout | undefined

  constructor(options: PurgerOptions) {
    this.#options = options
  }

  /** @throws what the thread could not be opened for */
  async start(): Promise<void> {
    const { pages: _, onError: __, ...data } = this.#options
    const worker = new Worker(new URL(program, import.meta.url), {
      workerData: { ...data, endedThreads: this.#endedThreads } satisfies PurgerData,
    })
    const { threadId } = worker
    let broken: unknown = null
    await new Promise<void>((resolve, reject) => {
      worker.on('message', (message: FromThread) => {
        if (message.opened !== true) return reject(fromMessage(message.opened))
        this.#worker ??= worker
        this.#settle(message.answers)
        this.#hold()
        resolve()
      })
      worker.once('error', (error: unknown) => (broken = error))
      worker.once('exit', () => {
        reject(broken ?? new Error('the thread that purges has ended'))
        if (this.#worker === worker) this.#lose(threadId, broken)
      })
    })
  }

  ask(task: PurgerTask): Promise<Invalidated | number> {
    const characters = charactersIn(task)
    if (this.#closing !== null || this.#worker === null)
      return Promise.reject(new PagecacheError('STORE_BUSY', 'Purges cannot be taken at the moment'))
    if (this.#waiting.size >= mostWaiting || this.#characters + characters > mostCharacters) {
      return Promise.reject(new PagecacheError('STORE_BUSY', 'Purges come faster than they can be written'))
    }
    const { promise, resolve, reject } = Promise.withResolvers<Invalidated | number>()
    const id = (this.#last += 1)
    this.#characters += characters
    this.#waiting.set(id, { characters, promise, resolve, reject })
    // What came with the same turn of the event loop goes as one message.
    if (this.#outbox.push({ id, task }) === 1) setImmediate(() => this.#send())
    return promise
  }

  #send(): void {
    this.#worker?.postMessage(this.#outbox satisfies ToThread)
    this.#outbox = []
    this.#hold()
  }

  /** A thread that has nothing to do keeps no process alive. */
  #hold(): void {
    if (this.#waiting.size > 0) this.#worker?.ref()
    else this.#worker?.unref()
  }

  /** What is in memory of the purged pages goes before anybody is told that they are gone. */
  #settle(answers: readonly PurgerAnswer[]): void {
    if (answers.length > 0) this.#options.pages.poll()
    for (const answer of answers) {
      const waiting = this.#take(answer.id)
      if ('error' in answer) waiting?.reject(fromMessage(answer.error))
      else waiting?.resolve(answer.value)
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    this.#characters -= waiting?.characters ?? 0
    return waiting
  }

  /** The thread has ended. What it had in hand is durable or was never promised; the next thread carries out the former. */
  #lose(threadId: number, error: unknown): void {
    this.#worker = null
    this.#outbox = []
    for (const id of [...this.#waiting.keys()])
      this.#take(id)?.reject(error ?? new Error('the thread that purges has ended'))
    if (this.#closing !== null) return
    this.#endedThreads.push(threadId)
    this.#options.onError('the thread that purges has ended', error)
    this.#startAgain()
  }

  #startAgain(): void {
    this.#restart = setTimeout(() => void this.start().catch(() => this.#closing ?? this.#startAgain()), restartDelay)
    this.#restart.unref()
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#end())
  }

  async #end(): Promise<void> {
    clearTimeout(this.#restart)
    await Promise.allSettled([...this.#waiting.values()].map(({ promise }) => promise))
    const worker = this.#worker
    if (worker === null) return
    const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    worker.ref()
    worker.postMessage(null satisfies ToThread)
    await gone
  }
}

function charactersIn(task: PurgerTask): number {
  const texts =
    task.kind === 'invalidate'
      ? task.invalidation.targets.flatMap(textsOf)
      : task.kind === 'remove'
        ? textsOf(toTarget(task.removal.selection))
        : []
  return texts.reduce((sum, text) => sum + text.length, 0)
}

function toTarget(selection: SharedRemoval['selection']): Target {
  return selection.kind === 'tags' ? { scope: 'tags', tags: selection.tags } : { scope: 'urls', urls: selection.urls }
}

function textsOf(target: Target): readonly string[] {
  if (target.scope === 'urls') return target.urls
  if (target.scope === 'tags') return target.tags
  return target.scope === 'pattern' ? [target.pattern] : []
}
