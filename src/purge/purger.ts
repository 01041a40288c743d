import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { fromMessage, PagecacheError } from '../errors.ts'
import { withYoungGeneration } from '../lib/young-generation.ts'
import { SteadyMap } from '../lib/steady-map.ts'
import { UnderWay } from '../lib/under-way.ts'
import type { PageStore, SharedRemoval } from '../pages/page-store.ts'
import type { Invalidated, Target } from './invalidation.ts'
import { toKeys } from './purge-key.ts'
import type { FromThread, PurgerAnswer, PurgerData, PurgerTask, ToThread } from './purger-messages.ts'
import type { DeliverySetup } from './deliver/open-delivery.ts'
import type { DeliverControl, Purging } from './purging.ts'
import { toGroups } from './remove-locally.ts'

/** Most waiting tasks; more are refused, so that a hanging disk does not fill the memory. */
const maxWaiting = 2_000
/** Most characters of tags and URLs in waiting tasks. */
const maxCharacters = 32 * 1024 * 1024
/** How long a purge waits for pages that are being stored, in milliseconds. Beyond it they are purged but not counted. */
const storingPatience = 1_000
/** Delay before a failed thread is restarted, in milliseconds. */
const restartDelay = 1_000

/** Half of the thread's young generation, in MB. It is large enough that objects of a group of purges are garbage before V8 collects it. */
const youngGeneration = 8

/** Next to this file in the sources; under its own name in dist/, where this file is part of a chunk. */
const program = import.meta.url.endsWith('.ts') ? './purger-main.ts' : '../purge/purger-main.js'

export interface PurgerOptions extends Omit<PurgerData, 'endedThreads'> {
  /** The page store of the thread that serves visitors. */
  pages: Pick<PageStore, 'poll' | 'handOver' | 'settled' | 'waiting'>
  /** Why the records are unusable, null if they are usable. */
  recordsFault?: () => PagecacheError | null
  onError(message: string, error: unknown): void
}

/**
 * Opens the purges of a serving process in a thread, so that visitors do not wait for them. Resolves when unfinished intents of killed
 * processes are carried out.
 * @throws what opening the records and the pages throws
 */
export async function openPurger(options: PurgerOptions): Promise<Purging> {
  const purger = new Purger(options)
  const arriving = new UnderWay()
  await purger.start()
  options.pages.handOver({
    remove: (removal) => purger.ask({ kind: 'remove', removal }) as Promise<number>,
    cleanUp: () => void purger.ask({ kind: 'cleanUp' }).catch(() => {}),
  })
  return {
    invalidate(invalidation) {
      const ask = () => purger.ask({ kind: 'invalidate', invalidation }) as Promise<Invalidated>
      if (options.pages.waiting().pages === 0) return ask()
      return arriving.track(settled(options.pages, invalidation.targets).then(ask))
    },
    catchUp: () => purger.ask({ kind: 'catchUp' }) as Promise<number>,
    deliver: (setup, control) => purger.deliver(setup, control),
    async close() {
      options.pages.handOver(null)
      await arriving.settled()
      await purger.close()
    },
  }
}

/** Waits for pages that visitors already have and that are not stored yet, so that a purge of them counts and logs them. */
async function settled(pages: PurgerOptions['pages'], targets: readonly Target[]): Promise<void> {
  const selected = toGroups(toKeys(targets)).map(({ selection }) => pages.settled(selection))
  await Promise.race([Promise.all(selected), pause(storingPatience, undefined, { ref: false })])
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
  readonly #waiting = new SteadyMap<number, Waiting>()
  #outbox: { id: number; task: PurgerTask }[] = []
  #characters = 0
  #last = 0
  #worker: Worker | null = null
  #closing: Promise<void> | null = null
  #restart: NodeJS.Timeout | undefined
  /** By the number of their task. */
  readonly #deliveries = new Map<number, DeliverControl>()

  constructor(options: PurgerOptions) {
    this.#options = options
  }

  /** @throws the error with which the thread failed to start */
  async start(): Promise<void> {
    const { pages: _, onError: __, recordsFault: ___, ...data } = this.#options
    const worker = withYoungGeneration(
      youngGeneration,
      (resourceLimits) =>
        new Worker(new URL(program, import.meta.url), {
          resourceLimits,
          workerData: { ...data, endedThreads: this.#endedThreads } satisfies PurgerData,
        }),
    )
    const { threadId } = worker
    let broken: unknown = null
    await new Promise<void>((resolve, reject) => {
      worker.on('message', (message: FromThread) => {
        if (message.opened !== true) return reject(fromMessage(message.opened))
        this.#worker ??= worker
        for (const { id, event } of message.events ?? []) this.#deliveries.get(id)?.onEvent(event)
        if (message.joined !== undefined) this.#deliveries.get(message.joined)?.onJoined?.()
        this.#settle(message.answers)
        this.#refWhileBusy()
        resolve()
      })
      worker.once('error', (error: unknown) => (broken = error))
      worker.once('exit', () => {
        reject(broken ?? new Error('The purge thread has ended'))
        if (this.#worker === worker) this.#rejectAll(threadId, broken)
      })
    })
  }

  /** @throws STORE_BUSY, and what the thread throws */
  async ask(task: PurgerTask): Promise<Invalidated | number> {
    return this.#begin(task).promise
  }

  /** Posts a task that is answered. @throws STORE_BUSY */
  #begin(task: PurgerTask): { id: number; promise: Promise<Invalidated | number> } {
    const characters = charactersIn(task)
    if (this.#closing !== null || this.#worker === null)
      throw new PagecacheError('STORE_BUSY', 'The purge thread is restarting or stopping')
    if (this.#waiting.size >= maxWaiting || this.#characters + characters > maxCharacters)
      throw new PagecacheError('STORE_BUSY', 'Too many purges are waiting to be written')
    const fault = task.kind === 'invalidate' ? (this.#options.recordsFault?.() ?? null) : null
    if (fault !== null) throw fault
    const { promise, resolve, reject } = Promise.withResolvers<Invalidated | number>()
    const id = this.#post(task)
    this.#characters += characters
    this.#waiting.set(id, { characters, promise, resolve, reject })
    return { id, promise }
  }

  /** Posts the tasks of one turn of the event loop as one message. Returns the number of the task. */
  #post(task: PurgerTask): number {
    const id = (this.#last += 1)
    if (this.#outbox.push({ id, task }) === 1) setImmediate(() => this.#send())
    return id
  }

  /** Resolves when the deliveries in hand have ended. @throws the error that stopped them, or that of the thread */
  async deliver(setup: DeliverySetup, control: DeliverControl): Promise<void> {
    if (control.stop.aborted) return
    const { id: delivery, promise } = this.#begin({ kind: 'deliver', setup })
    // Not a task that waits: it must not be refused because too many do.
    const stop = () => void this.#post({ kind: 'stopDelivering', delivery })
    this.#deliveries.set(delivery, control)
    control.stop.addEventListener('abort', stop, { once: true })
    try {
      await promise
    } finally {
      control.stop.removeEventListener('abort', stop)
      this.#deliveries.delete(delivery)
    }
  }

  #send(): void {
    this.#worker?.postMessage(this.#outbox satisfies ToThread)
    this.#outbox = []
    this.#refWhileBusy()
  }

  /** An idle thread must not keep the process alive. */
  #refWhileBusy(): void {
    if (this.#waiting.size > 0) this.#worker?.ref()
    else this.#worker?.unref()
  }

  /** Drops purged pages from memory before their purges are answered. */
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

  /** Rejects the tasks of a thread that has ended. Intents that it recorded are carried out by the next thread. */
  #rejectAll(threadId: number, error: unknown): void {
    this.#worker = null
    this.#outbox = []
    for (const [id] of this.#waiting.entries()) this.#take(id)?.reject(error ?? new Error('The purge thread has ended'))
    if (this.#closing !== null) return
    this.#endedThreads.push(threadId)
    this.#options.onError('The purge thread has ended', error)
    this.#scheduleRestart()
  }

  #scheduleRestart(): void {
    this.#restart = setTimeout(
      () => void this.start().catch(() => this.#closing ?? this.#scheduleRestart()),
      restartDelay,
    )
    this.#restart.unref()
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#end())
  }

  async #end(): Promise<void> {
    clearTimeout(this.#restart)
    for (const delivery of this.#deliveries.keys()) this.#post({ kind: 'stopDelivering', delivery })
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
