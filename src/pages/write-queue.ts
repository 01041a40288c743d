import { setTimeout as pause } from 'node:timers/promises'
import { Batches, batchPages, bodyOf, outcomeOf, type Batch, type Waiting } from './batches.ts'
import { Gathering } from './gathering.ts'
import type { Page, PageDraft } from './page.ts'
import { finiteTimes } from './page-row.ts'
import type { Fence, Rejection, Selection, StoredHits } from './page-store.ts'
import type { PageWriter } from './page-writer.ts'
import { PagesToRecode } from './recoder.ts'
import { selects } from './removals.ts'
import type { SharedIndex } from './shared-index.ts'
import { toGroupTask, toHitTasks, type GroupWritten, type WriterAnswer, type WriterTask } from './writer-messages.ts'

/** The most that waits to be stored, in bytes: about 1,000 compressed pages, which take a fifth of a second. */
const mostBytes = 8 * 1024 ** 2
/** How long pages gather that no warmup waits for, in ms: a transaction of one page costs four times its share of a group. */
const gatherFor = 50
/** How often a batch is given to a writer thread. One that dies twice over it would die again. */
const mostAttempts = 2
/** How long `close` waits for the queue, in milliseconds: pages are disposable, a stopping daemon is waited for. */
const closingPatience = 10_000

type SmallTask = Extract<WriterTask, { kind: 'freshen' | 'hits' }>

export interface WriteQueueOptions {
  shared: SharedIndex
  writer: PageWriter
  now: () => number
  /** Whether pages that are hit again are compressed thoroughly. */
  compression: boolean
  onWarning(message: string): void
}

/**
 * The pages of this process that its writer thread has not stored yet. They are found as if they were stored, unless a
 * removal by any process selects them (docs/decisions/0074-one-writer.md).
 */
export class WriteQueue {
  readonly #options: WriteQueueOptions
  readonly #waiting = new Batches()
  /** The files that the writer was last asked to write. */
  #files: readonly string[] = []
  readonly #recodes = new PagesToRecode()
  readonly gathering = new Gathering()
  readonly #small: { task: SmallTask; resolve(value: Page | Rejection | null): void }[] = []
  #failed = 0
  /** Whether storage failed for the last group: then one page at a time is accepted, as a trial. */
  #failing = false
  #working: Promise<void> | null = null
  #closing = false

  constructor(options: WriteQueueOptions) {
    this.#options = options
    options.shared.renewals.ownFiles = () => this.#files
  }

  get state(): { pages: number; bytes: number } {
    const { size, bytes } = this.#waiting
    return { pages: size, bytes }
  }

  /** Pages that were not accepted, or not stored because storage failed. */
  get failed(): number {
    return this.#failed
  }

  /** Why no further page is accepted. One always is, so that a page larger than the queue is stored too. */
  #whyShut(patient: boolean): Rejection | null {
    if (this.#closing) return 'unavailable'
    if (patient || this.#waiting.size === 0) return null
    if (this.#failing) return 'unavailable'
    return this.#waiting.bytes < mostBytes ? null : 'behind'
  }

  /**
   * Accepts a page, which is found from now on. `patient`: the caller limits how many of its pages wait, and the queue
   * does not.
   */
  add(draft: PageDraft, body: Buffer, fence: Fence, patient: boolean): Waiting | Rejection {
    const { shared, now } = this.#options
    const rejection = this.#rejection(fence, draft)
    if (rejection !== null) return rejection
    const shut = this.#whyShut(patient)
    if (shut !== null) this.#failed += 1
    if (shut !== null) return shut
    const unused = { size: body.length, hits: 0, hitMs: 0, usedAt: now() }
    const checked = shared.heldAtLastPoll(fence) ? fence : shared.fence()
    const waiting = this.#waiting.add({ ...draft, ...finiteTimes(draft), ...unused }, body, fence, checked)
    if (this.#waiting.size >= batchPages || this.#waiting.bytes >= mostBytes / 2) this.gathering.hurry()
    this.#wake()
    return waiting
  }

  /** Accepts a page, and resolves when it waits no longer. */
  async put(draft: PageDraft, body: Buffer, fence: Fence, patient: boolean): Promise<Page | Rejection> {
    const added = this.add(draft, body, fence, patient)
    if (!patient) this.gathering.hurry()
    return typeof added === 'string' ? added : this.gathering.awaited(outcomeOf(added))
  }

  /** The waiting pages under a primary key, newest first. */
  find(key: string): Page[] {
    const found = this.#waiting.under(key)
    return found.filter((waiting) => this.#isValid(waiting)).map(({ page }) => page)
  }

  waits(key: string): boolean {
    return this.#waiting.has(key)
  }

  body(page: Page): Buffer | null {
    const waiting = this.#waiting.get(page.id)
    return waiting !== null && this.#isValid(waiting) ? bodyOf(waiting) : null
  }

  #selected(selection: Selection): Waiting[] {
    return [...this.#waiting].filter(({ page }) => selects(selection, page))
  }

  /** How many waiting pages a removal would select. */
  count(selection: Selection): number {
    return this.#selected(selection).length
  }

  /** Resolves when a page, or every page that an invalidation selects, waits no longer. */
  async settled(which: Page | Selection): Promise<void> {
    const found = 'id' in which ? [this.#waiting.get(which.id)] : this.#selected(which)
    const batches = new Set(found.flatMap((waiting) => waiting?.batch ?? []))
    if (batches.size > 0) this.gathering.hurry()
    for (const { over } of batches) await over.promise
  }

  /** Resolves to what the writer makes of a small task; null when that fails. */
  ask(task: SmallTask): Promise<Page | Rejection | null> {
    return new Promise((resolve) => {
      this.#small.push({ task, resolve })
      this.gathering.hurry()
      this.#wake()
    })
  }

  /** Has hits counted, and pages compressed thoroughly once nothing else is to be done. */
  async sendHits(hits: readonly StoredHits[]): Promise<void> {
    const storing = new Set(hits.flatMap(({ page }) => this.#waiting.get(page.id)?.batch ?? []))
    // Without a pause where nothing is to be awaited: a page that is taken later must not overtake the hits.
    for (const { over } of storing) await over.promise
    await Promise.all(toHitTasks(hits).map((task) => this.ask(task)))
    if (!this.#options.compression) return
    for (const { page, recode } of hits) if (recode === true && 'encoding' in page) this.#recodes.add(page)
    this.#wake()
  }

  /** Removals since the last look are checked when a page is asked for: most pages never are while they wait. */
  #isValid(waiting: Waiting): boolean {
    const { shared } = this.#options
    const fence = shared.fence()
    if (fence.generation !== waiting.checked.generation) return false
    if (fence.sequence === waiting.checked.sequence) return true
    if (this.#rejection(waiting.checked, waiting.page) !== null) return false
    waiting.checked = fence
    return true
  }

  #rejection(fence: Fence, draft: PageDraft): Rejection | null {
    const { shared } = this.#options
    if (shared.heldAtLastPoll(fence)) return null
    return shared.read<Rejection | null>('unavailable', (index) => index.log.rejection(fence, draft))
  }

  #wake(): void {
    // In the next turn, so that what was accepted in this one shares a transaction.
    this.#working ??= new Promise((resolve) => setImmediate(resolve)).then(() => this.#work())
  }

  async #work(): Promise<void> {
    try {
      while (await this.#next());
    } finally {
      this.#working = null
      // What came after the last look did not wake it.
      const recodes = this.#closing ? 0 : this.#recodes.size
      if (this.#small.length + this.#waiting.size + recodes > 0) this.#wake()
    }
  }

  /** Performs the most urgent task; false when there is none. */
  async #next(): Promise<boolean> {
    const { size } = this.#waiting
    if (this.#small.length === 0 && size > 0 && size < batchPages && !this.#closing)
      await this.gathering.pause(gatherFor)
    const small = this.#small.shift()
    const batch = this.#waiting.oldest
    if (small !== undefined) small.resolve(await this.#askSmall(small.task))
    else if (batch !== null) await this.#write(batch)
    else if (!this.#closing) return this.#recodeNext()
    else return false
    return true
  }

  async #recodeNext(): Promise<boolean> {
    const page = this.#recodes.next()
    if (page === undefined) return false
    // Memory has the old coding.
    if ((await this.#askSmall({ kind: 'recode', page })) !== null) this.#options.shared.renewals.tell([page.key])
    return true
  }

  async #write(batch: Batch): Promise<void> {
    const written = (await this.#send(batch)) as GroupWritten | null
    // Closed meanwhile.
    if (batch !== this.#waiting.oldest) return
    if (written === null) return this.#retryLater(batch)
    this.#failed += written.failed
    this.#failing = written.failed > 0
    this.#end(batch, written.stored)
  }

  #send(batch: Batch): Promise<WriterAnswer> {
    batch.attempts += 1
    const becomes = batch.attempts < mostAttempts ? 'wait to be stored again' : 'are not stored'
    return this.#ask(`${batch.pages.length} pages ${becomes}`, () => {
      const task = toGroupTask(batch)
      this.#files = [...new Set(task.files)]
      return task
    })
  }

  /** After the writer died, or when there was no memory for a copy of a large page. */
  #retryLater(batch: Batch): void {
    this.#files = []
    if (batch.attempts < mostAttempts) return
    this.#failed += batch.pages.length
    this.#end(batch, [])
  }

  /**
   * Pages that were not stored leave the memory tier too: operators could neither list nor inspect them.
   *
   * @param stored the ids of the rows, or why there is none
   */
  #end(batch: Batch, stored: readonly (number | Rejection)[]): void {
    const { renewals } = this.#options.shared
    const outcomes = batch.pages.map(({ page }, at) => {
      const id = stored[at] ?? 'unavailable'
      return typeof id === 'string' ? id : Object.assign(page, { id })
    })
    for (const page of outcomes) if (typeof page !== 'string') renewals.own(page)
    this.#waiting.shift(outcomes)
    renewals.tell(batch.pages.flatMap(({ page }, at) => (typeof outcomes[at] === 'string' ? page.key : [])))
  }

  async #askSmall(task: Exclude<WriterTask, { kind: 'pages' }>): Promise<Page | Rejection | null> {
    return (await this.#ask(`${task.kind} failed`, () => task)) as Page | Rejection | null
  }

  /**
   * The writer's answer; null when it failed or died, or the task could not be made, which is reported. Not an async function, which would
   * keep the task until the answer.
   *
   * @param what the consequence of a failure
   */
  #ask(what: string, toTask: () => WriterTask): Promise<WriterAnswer> {
    const { writer, now, onWarning } = this.#options
    const asked = new Promise<WriterAnswer>((resolve) => resolve(writer.ask(toTask(), now())))
    return asked.catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      onWarning(`The writer of the page store failed, ${what}: ${why}`)
      return null
    })
  }

  /** Stores what waits, and ends the thread. `callers`: settles when no further tasks come. */
  async close(callers: Promise<unknown>): Promise<void> {
    this.#closing = true
    this.gathering.hurry()
    await Promise.race([this.#drain(callers), pause(closingPatience, undefined, { ref: false })])
    while (this.#waiting.oldest !== null) this.#end(this.#waiting.oldest, [])
    await this.#options.writer.close()
  }

  async #drain(callers: Promise<unknown>): Promise<void> {
    await callers
    while (this.#working !== null) await this.#working
  }
}
