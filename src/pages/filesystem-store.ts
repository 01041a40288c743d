import type { PagecacheError } from '../errors.ts'
import { UnderWay } from '../lib/under-way.ts'
import { BodyFiles, newBodyFile } from './body-files.ts'
import { BodyReads } from './body-reads.ts'
import { readTaken, readUnreleased } from './cleared.ts'
import { emptyCounters } from './counters.ts'
import type { Eviction } from './evictions.ts'
import { unlessStorageFails } from './faults.ts'
import { GroupWrites } from './group-writes.ts'
import { Housekeeper } from './housekeeper.ts'
import { KnownKeys } from './known-keys.ts'
import type { Page, PageDraft, PageType } from './page.ts'
import type {
  Fence,
  NewPage,
  OpenBody,
  PageBytes,
  PageFilter,
  PageStore,
  PreparedPage,
  Rejection,
  RemovalWorker,
  RemoveOptions,
  Selection,
  SharedRemoval,
  SharedRemoved,
  Stored,
  StoredHits,
  Taken,
  TypeCounters,
} from './page-store.ts'
import { placesIn } from './places.ts'
import { prepare, toStoredPage } from './prepared-page.ts'
import { readLimit, writeLimit } from './published-limit.ts'
import { unique } from './removal-choices.ts'
import { Remover } from './remover.ts'
import { PageWriter } from './page-writer.ts'
import { RecentPages } from './recent-pages.ts'
import { Recoder } from './recoder.ts'
import { automaticLimit, Room } from './room.ts'
import type { FilesystemStoreOptions } from './store-options.ts'
import { SharedIndex } from './shared-index.ts'
import { Spool } from './spool.ts'
import { WriteQueue } from './write-queue.ts'

export { clearApplicationCache } from './clear.ts'

const defaultMaxVariants = 64
const defaultPatience = 5_000
/** Delay in milliseconds before cleaning up after another process, which normally does so itself. */
const afterOthers = 1_000

/** Opens the page store in a directory, whatever state it is in (see `PageStore`). Never throws a storage error. */
export async function openFilesystemStore(options: FilesystemStoreOptions): Promise<PageStore> {
  const places = placesIn(options.directory)
  let publish = () => {}
  const { onWarning, patience = defaultPatience, known = options.writer === true ? new KnownKeys() : null } = options
  const shared = new SharedIndex({ places, onWarning, onOpened: () => publish(), patience, known })
  await shared.ready()
  const used = shared.read(0, (index) => index.counters.totals().size)
  const limit = options.publishesLimit === true ? null : readLimit(places)
  const maxSize = options.maxSize ?? limit ?? (await automaticLimit(options.directory, used))
  if (options.publishesLimit === true) publish = () => writeLimit(places, maxSize)
  publish()
  return new FilesystemStore({ ...options, maxSize }, shared)
}

class FilesystemStore implements PageStore {
  readonly #options: FilesystemStoreOptions & { maxSize: number }
  readonly #shared: SharedIndex
  readonly #bodies: BodyFiles
  readonly #room: Room
  readonly #reads: BodyReads
  /** Made by the first `readPage`: only a process that serves visitors needs it. */
  #recent: RecentPages | null = null
  readonly #housekeeper: Housekeeper
  readonly #remover: Remover
  readonly #writes: GroupWrites
  readonly #recoder: Recoder
  readonly #queue: WriteQueue | null = null
  readonly #running = new UnderWay()
  #worker: RemovalWorker | null = null
  readonly poll = (): void => this.#shared.poll()
  readonly fault = (): PagecacheError | null => this.#shared.fault()
  readonly fence = (): Fence => this.#shared.fence()
  readonly holds = (fence: Fence): boolean => this.#shared.holds(fence)
  readonly heldAtLastPoll = (fence: Fence): boolean => this.#shared.heldAtLastPoll(fence)
  readonly deadSize = (): number => this.#shared.read(0, (index) => index.counters.deadSize())
  readonly announce = <Result>(work: Promise<Result>): Promise<Result> => this.#queue?.gathering.announce(work) ?? work
  readonly asOfTurn = <T>(read: () => T): T => this.#shared.asOfTurn(read)
  readonly readBodyNow = (page: Page): Buffer | null => this.#reads.now(page)
  readonly #waits = (key: string): boolean => this.#queue?.waits(key) === true
  readonly find = (key: string): Page[] => {
    const stored = this.#shared.read<Page[]>([], (index) => index.reads.find(key, this.#options.now()))
    return [...(this.#queue?.find(key) ?? []), ...stored]
  }
  readonly unreleased = (before: number): number[] => readUnreleased(this.#shared, this.#options.directory, before)

  constructor(options: FilesystemStoreOptions & { maxSize: number }, shared: SharedIndex) {
    this.#options = options
    this.#shared = shared
    const { directory, maxSize, now, onWarning } = options
    const places = placesIn(directory)
    const bodies = (this.#bodies = new BodyFiles(places))
    const room = (this.#room = new Room({ shared, bodies, directory, now, onWarning }))
    this.#remover = new Remover({ shared, room, places, now })
    this.#housekeeper = new Housekeeper({ shared, bodies, room, directory, maxSize, now })
    this.#reads = new BodyReads({ shared, bodies, onWarning, onBuried: () => this.#housekeeper.wake() })
    const { maxVariants = defaultMaxVariants } = options
    this.#writes = new GroupWrites({ shared, bodies, room, maxSize, now, maxVariants, housekeeper: this.#housekeeper })
    const onLeft = (file: string) => this.#housekeeper.reconsider(file)
    this.#recoder = new Recoder({ shared, reads: this.#reads, bodies, room, now, onLeft })
    if (options.writer === true) this.#queue = this.#startWriter()
    shared.onRemoved(() => this.#housekeeper.wake(afterOthers))
    this.#housekeeper.wake()
  }

  get maxSize(): number {
    return this.#options.maxSize
  }

  #startWriter(): WriteQueue {
    const { directory, maxSize, maxVariants = defaultMaxVariants, compression = true, ...rest } = this.#options
    const writer = new PageWriter({ directory, maxSize, maxVariants }, (error) =>
      rest.onWarning(`The writer thread of the page store has ended: ${String(error)}`),
    )
    return new WriteQueue({ ...rest, shared: this.#shared, writer, compression })
  }

  onRemoved(listener: (selection: Selection) => void): void {
    this.#shared.onRemoved(listener)
  }

  onRenewed(listener: (keys: readonly string[]) => void): void {
    this.#shared.renewals.onRenewed(listener)
  }

  readPage(key: string, choose: (pages: readonly Page[]) => Page | null): PageBytes | null {
    this.#recent ??= new RecentPages({ shared: this.#shared, reads: this.#reads, find: this.find, waits: this.#waits })
    return this.#recent.read(key, choose)
  }

  findByUrl(url: string): Page[] {
    return this.#shared.read<Page[]>([], (index) => index.reads.findByUrl(url))
  }

  evictionOf(url: string): Eviction | null {
    return this.#shared.read<Eviction | null>(null, (index) => index.evictions.find(url))
  }

  tags(beginning: string, limit: number): string[] {
    return this.#shared.read<string[]>([], (index) => index.reads.tags(beginning, limit))
  }

  list(filter: PageFilter): { total: number; items: Page[] } {
    return this.#shared.read({ total: 0, items: [] }, (index) => index.reads.list(filter))
  }

  tagged(tag: string, after: number, limit: number): { id: number; url: string }[] {
    return this.#shared.read([], (index) => index.reads.tagged(tag, after, limit))
  }

  hitsOf(urls: readonly string[]): number[] {
    return this.#shared.read(Array<number>(urls.length).fill(0), (index) => index.reads.hitsOf(urls))
  }

  counters(): Record<PageType, TypeCounters> {
    return this.#shared.read(emptyCounters(), (index) => index.counters.all())
  }

  count(selection: Selection): Promise<number> {
    const stored = this.#shared.read(0, (index) => index.reads.count(unique(selection)))
    return Promise.resolve(stored + (this.#queue?.count(selection) ?? 0))
  }

  damaged(): number {
    return this.#reads.damaged
  }

  unstored(): number {
    return this.#writes.failed + (this.#queue?.failed ?? 0)
  }

  readBody(page: Page): Promise<Buffer | null> {
    const waiting = this.#queue?.body(page) ?? null
    return waiting === null ? this.#running.track(this.#reads.all(page)) : Promise.resolve(waiting)
  }

  openBody(page: Page): Promise<OpenBody | null> {
    return this.#running.track(this.settled(page).then(() => this.#reads.open(page)))
  }

  async openSpool(): Promise<Spool | null> {
    const handle = await this.#running.track(unlessStorageFails(this.#room.retry(() => this.#bodies.openNameless())))
    return handle && new Spool(handle, (write) => this.#room.retry(write))
  }

  async put(draft: PageDraft, body: Buffer, fence: Fence, patient = true): Promise<Page | Rejection> {
    if (this.#queue === null)
      return (await this.writeTogether([{ draft, body, fence, file: newBodyFile(draft.key) }]))[0]!
    return this.#queue.put(draft, body, fence, patient)
  }

  async take(draft: PageDraft, body: Buffer, fence: Fence): Promise<Page | Rejection> {
    if (this.#queue === null) return this.put(draft, body, fence)
    if (body.length > this.#options.maxSize) return 'unavailable'
    const added = this.#queue.add(draft, body, fence, false)
    return typeof added === 'string' ? added : added.page
  }

  async writeTogether(pages: readonly NewPage[]): Promise<(Page | Rejection)[]> {
    const stored = await this.writePrepared(pages.map(prepare))
    return stored.map((page, at) => (typeof page === 'string' ? page : toStoredPage(pages[at]!.draft, page)))
  }

  async writePrepared(pages: readonly PreparedPage[]): Promise<(Stored | Rejection)[]> {
    const stored = await this.#running.track(this.#writes.write(pages))
    if (stored.some((page) => typeof page !== 'string')) this.#housekeeper.wake()
    return stored
  }

  async settled(which: Page | Selection): Promise<void> {
    await this.#queue?.settled(which)
  }

  waiting() {
    return this.#queue?.state ?? { pages: 0, bytes: 0 }
  }

  async recode(page: Page): Promise<Page | null> {
    return this.#running.track(unlessStorageFails(this.#recoder.recode(page)))
  }

  freshen(page: Page, draft: PageDraft, fence: Fence): Promise<Page | Rejection> {
    return this.#running.track(this.#freshen(page, draft, fence))
  }

  async #freshen(page: Page, draft: PageDraft, fence: Fence): Promise<Page | Rejection> {
    if (this.#shared.current === null) return 'unavailable'
    if (this.#queue === null) return this.#writes.freshen(page, draft, fence)
    await this.#queue.settled(page)
    const renewed = (await this.#queue.ask({ kind: 'freshen', page, draft, fence })) ?? 'unavailable'
    if (typeof renewed !== 'string') this.#shared.renewals.own(renewed)
    return renewed
  }

  recordHits(hits: readonly StoredHits[]): void {
    if (this.#shared.current === null || hits.length === 0) return
    if (this.#queue !== null) return void this.#running.track(this.#queue.sendHits(hits))
    const adding = this.#shared.write((index) => index.write(() => index.writes.addHits(hits)))
    void this.#running.track(unlessStorageFails(adding))
  }

  remove(selection: Selection, options?: RemoveOptions): Promise<number> {
    return this.#running.track(this.#remove(selection, options))
  }

  handOver(worker: RemovalWorker | null): void {
    this.#worker = worker
    this.#housekeeper.leaveReaping(worker === null ? null : () => worker.cleanUp())
  }

  cleanUp(): void {
    this.#housekeeper.wake()
  }

  removeTogether(removals: readonly SharedRemoval[]): Promise<SharedRemoved[]> {
    return this.#running.track(this.#remover.takeTogether(removals))
  }

  async taken(...asked: [trace: number, after: number, limit: number]): Promise<Taken[] | null> {
    return readTaken(this.#shared, this.#options.directory, ...asked)
  }

  release(traces: readonly number[]): Promise<void> {
    return this.#running.track(this.#housekeeper.release(traces))
  }

  async #remove(selection: Selection, options?: RemoveOptions): Promise<number> {
    const isPlain = options?.trace === undefined && options?.onTaken === undefined
    if (this.#worker !== null && isPlain && (selection.kind === 'tags' || selection.kind === 'urls'))
      return this.#worker.remove({ selection, soft: options?.soft === true })
    const removed = await this.#remover.remove(unique(selection), options)
    this.#housekeeper.wake()
    return removed
  }

  sweep(): Promise<{ expired: number; orphans: number }> {
    return this.#running.track(this.#housekeeper.sweep())
  }

  async close(): Promise<void> {
    await this.#housekeeper.stop()
    const running = this.#running.settled()
    await this.#queue?.close(running)
    await running
    this.#shared.close()
  }
}
