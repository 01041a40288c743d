import { setTimeout as pause } from 'node:timers/promises'
import { SteadyMap } from '../lib/steady-map.ts'
import { newBodyFile } from './body-files.ts'
import { Gathering } from './gathering.ts'
import { compact } from './memory-tier.ts'
import type { Page, PageDraft } from './page.ts'
import { finiteTimes } from './page-row.ts'
import { pieceSize } from './piece-digests.ts'
import type { Fence, Rejection, Selection, StoredHits } from './page-store.ts'
import type { PageWriter } from './page-writer.ts'
import { PagesToRecode } from './recoder.ts'
import { selects } from './removals.ts'
import type { SharedIndex } from './shared-index.ts'
import { sizeOf, type Waiting } from './waiting-page.ts'
import { groupPages, toGroupTask, toHitTasks, type GroupWritten, type WriterTask } from './writer-messages.ts'

/** The most that waits to be stored, in bytes: about 2,500 compressed pages, which take a second. */
const mostBytes = 16 * 1024 ** 2
/** Bytes per transaction, like `groupPages`. */
const groupBytes = 1024 ** 2
/** How long pages gather that no warmup waits for, in ms: a transaction of one page costs four times its share of a group. */
const gatherFor = 50
/** How often a page is given to a writer thread. One that dies twice over it would die again. */
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
  readonly #waiting = new SteadyMap<number, Waiting>()
  readonly #byKey = new SteadyMap<string, Waiting[]>()
  /** The files that the writer was last asked to write. */
  #files: readonly string[] = []
  readonly #recodes = new PagesToRecode()
  readonly gathering = new Gathering()
  readonly #small: { task: SmallTask; resolve(value: Page | Rejection | null): void }[] = []
  #bytes = 0
  #last = 0
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
    return { pages: this.#waiting.size, bytes: this.#bytes }
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
    return this.#bytes < mostBytes ? null : 'behind'
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
    const id = -(this.#last += 1)
    const unused = { size: body.length, hits: 0, hitMs: 0, usedAt: now() }
    const page: Page = { ...draft, ...finiteTimes(draft), ...unused, id }
    const begun = { file: '', checked: shared.fence(), attempts: 0, ...Promise.withResolvers<Page | Rejection>() }
    const waiting: Waiting = { draft: page, body: compact(body), fence, page, ...begun }
    this.#waiting.set(page.id, waiting)
    this.#byKey.set(draft.key, [waiting, ...(this.#byKey.get(draft.key) ?? [])])
    this.#bytes += sizeOf(waiting)
    if (this.#waiting.size >= groupPages) this.gathering.hurry()
    this.#wake()
    return waiting
  }

  /** The waiting pages under a primary key, newest first. */
  find(key: string): Page[] {
    const found = this.#byKey.get(key)
    return found === undefined ? [] : found.filter((waiting) => this.#isValid(waiting)).map(({ page }) => page)
  }

  body(page: Page): Buffer | null {
    const waiting = this.#waiting.get(page.id)
    return waiting !== undefined && this.#isValid(waiting) ? waiting.body : null
  }

  /** How many waiting pages a removal would select. */
  count(selection: Selection): number {
    return [...this.#waiting.values()].filter(({ page }) => selects(selection, page)).length
  }

  /** Resolves when a page, or every page that an invalidation selects, waits no longer. */
  async settled(which: Page | Selection): Promise<void> {
    const found =
      'id' in which
        ? [this.#waiting.get(which.id)]
        : [...this.#waiting.values()].filter(({ page }) => selects(which, page))
    if (found.length > 0) this.gathering.hurry()
    await Promise.all(found.map((waiting) => waiting?.promise))
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
    const storing = hits.flatMap(({ page }) => this.#waiting.get(page.id)?.promise ?? [])
    // Without a pause where nothing is to be awaited: a page that is taken later must not overtake the hits.
    if (storing.length > 0) await Promise.all(storing)
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
    if (this.#rejection(waiting.checked, waiting.draft) !== null) return false
    waiting.checked = fence
    return true
  }

  #rejection(fence: Fence, draft: PageDraft): Rejection | null {
    const { shared } = this.#options
    if (shared.holds(fence)) return null
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
    if (this.#small.length === 0 && size > 0 && size < groupPages && !this.#closing)
      await this.gathering.pause(gatherFor)
    const small = this.#small.shift()
    const group = small === undefined ? this.#group() : []
    if (small !== undefined) small.resolve((await this.#ask(small.task)) as Page | Rejection | null)
    else if (group.length > 0) await this.#write(group)
    else if (!this.#closing) return this.#recodeNext()
    else return false
    return true
  }

  async #recodeNext(): Promise<boolean> {
    const page = this.#recodes.next()
    if (page === undefined) return false
    // Memory has the old coding.
    if ((await this.#ask({ kind: 'recode', page })) !== null) this.#options.shared.renewals.tell([page.key])
    return true
  }

  #group(): Waiting[] {
    const group: Waiting[] = []
    let bytes = 0
    for (const waiting of this.#waiting.values()) {
      if (group.length === groupPages || (bytes += waiting.body.length) > groupBytes) break
      group.push(waiting)
    }
    // A page larger than a group is a group.
    const [first] = group.length === 0 ? this.#waiting.values() : []
    return first === undefined ? group : [first]
  }

  /** Small bodies share a file. A row may exist already from an earlier attempt: its file must not be written again. */
  #prepare(group: readonly Waiting[]): void {
    const shared = newBodyFile(group[0]!.draft.key)
    for (const waiting of group) {
      waiting.attempts += 1
      waiting.file = waiting.body.length <= pieceSize ? shared : newBodyFile(waiting.draft.key)
    }
    this.#files = [...new Set(group.map(({ file }) => file))]
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    this.#prepare(group)
    const written = (await this.#ask(toGroupTask(group))) as GroupWritten | null
    if (written === null) return this.#retryLater(group)
    const { stored, failed } = written
    this.#failed += failed
    this.#failing = failed > 0
    for (const [outcome, waiting] of Map.groupBy(group, (_, at) => stored[at]!))
      if (typeof outcome === 'string') this.#drop(waiting, outcome)
      else this.#settle(waiting[0]!, outcome)
  }

  /** After the writer died. */
  #retryLater(group: readonly Waiting[]): void {
    const lost = group.filter(({ attempts }) => attempts >= mostAttempts)
    this.#failed += lost.length
    this.#drop(lost, 'unavailable')
    this.#files = []
  }

  #settle(waiting: Waiting, id: number): void {
    this.#remove(waiting)
    waiting.page.id = id
    this.#options.shared.renewals.own(waiting.page)
    waiting.resolve(waiting.page)
  }

  /** Pages that were not stored leave the memory tier too: operators could neither list nor inspect them. */
  #drop(lost: readonly Waiting[], why: Rejection): void {
    for (const waiting of lost) this.#remove(waiting)
    this.#options.shared.renewals.tell(lost.map(({ draft }) => draft.key))
    for (const waiting of lost) waiting.resolve(why)
  }

  #remove(waiting: Waiting): void {
    const { page, draft } = waiting
    this.#waiting.delete(page.id)
    this.#bytes -= sizeOf(waiting)
    const others = (this.#byKey.get(draft.key) ?? []).filter((other) => other !== waiting)
    if (others.length > 0) this.#byKey.set(draft.key, others)
    else this.#byKey.delete(draft.key)
  }

  /** The writer's answer; null when it failed or died, which is reported. */
  async #ask(task: WriterTask) {
    const { writer, now, onWarning } = this.#options
    try {
      return await writer.ask(task, now())
    } catch (error) {
      const what =
        task.kind === 'pages' ? `${task.records.length} pages wait to be stored again` : `${task.kind} failed`
      onWarning(
        `The writer of the page store failed, ${what}: ${error instanceof Error ? error.message : String(error)}`,
      )
      return null
    }
  }

  /** Stores what waits, and ends the thread. `callers`: settles when no further tasks come. */
  async close(callers: Promise<unknown>): Promise<void> {
    this.#closing = true
    this.gathering.hurry()
    await Promise.race([this.#drain(callers), pause(closingPatience, undefined, { ref: false })])
    this.#drop([...this.#waiting.values()], 'unavailable')
    await this.#options.writer.close()
  }

  async #drain(callers: Promise<unknown>): Promise<void> {
    await callers
    while (this.#working !== null) await this.#working
  }
}
