import type { PagecacheError } from '../errors.ts'
import { BodyFiles, type WrittenBody } from './body-files.ts'
import { BodyReads } from './body-reads.ts'
import { takenByClear } from './cleared.ts'
import { emptyCounters } from './counters.ts'
import { isStorageError, unlessStorageFails } from './faults.ts'
import { Housekeeper } from './housekeeper.ts'
import type { PageIndex } from './page-index.ts'
import type { Page, PageDraft, PageType } from './page.ts'
import type {
  Fence,
  HitCount,
  OpenBody,
  PageFilter,
  PageStore,
  RemovalWorker,
  RemoveOptions,
  Selection,
  SharedRemoval,
  SharedRemoved,
  Taken,
  TypeCounters,
} from './page-store.ts'
import { placesIn } from './places.ts'
import { readLimit, writeLimit } from './published-limit.ts'
import { unique } from './removal-choices.ts'
import { Remover } from './remover.ts'
import { automaticLimit, Room } from './room.ts'
import type { FilesystemStoreOptions } from './store-options.ts'
import { SharedIndex } from './shared-index.ts'
import { Spool } from './spool.ts'

export { clearApplicationCache } from './clear.ts'

const defaultMaxVariants = 64
const defaultPatience = 5_000
/** The most pages that one `put` evicts; the rest is evicted in the background. */
const evictionSlice = 64
/** Pages evicted to store one page while the file system is short of space. */
const roomForOne = 4
/** Delay in milliseconds before cleaning up after another process, which normally does so itself. */
const afterOthers = 1_000

/** Opens the page store in a directory, whatever state it is in (see `PageStore`). Never throws a storage error. */
export async function openFilesystemStore(options: FilesystemStoreOptions): Promise<PageStore> {
  const places = placesIn(options.directory)
  let publish = () => {}
  const shared = new SharedIndex({
    places,
    onWarning: options.onWarning,
    onOpened: () => publish(),
    patience: options.patience ?? defaultPatience,
  })
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
  readonly #housekeeper: Housekeeper
  readonly #remover: Remover
  readonly #running = new Set<Promise<unknown>>()
  #worker: RemovalWorker | null = null
  #unstored = 0
  readonly readBodyNow = (page: Page): Buffer | null => this.#reads.now(page)

  constructor(options: FilesystemStoreOptions & { maxSize: number }, shared: SharedIndex) {
    this.#options = options
    this.#shared = shared
    const { directory, maxSize, now, onWarning } = options
    const places = placesIn(directory)
    this.#bodies = new BodyFiles(places)
    const [bodies, room] = [this.#bodies, new Room({ shared, bodies: this.#bodies, directory, now, onWarning })]
    this.#room = room
    this.#remover = new Remover({ shared, room, places, now })
    this.#housekeeper = new Housekeeper({ shared, bodies, room, directory, maxSize, now })
    this.#reads = new BodyReads({ shared, bodies, onWarning, onBuried: () => this.#housekeeper.wake() })
    shared.onRemoved(() => this.#housekeeper.wake(afterOthers))
    this.#housekeeper.wake()
  }

  get maxSize(): number {
    return this.#options.maxSize
  }

  poll(): void {
    this.#shared.poll()
  }

  fault(): PagecacheError | null {
    return this.#shared.fault()
  }

  onRemoved(listener: (selection: Selection) => void): void {
    this.#shared.onRemoved(listener)
  }

  onRenewed(listener: (keys: readonly string[]) => void): void {
    this.#shared.onRenewed(listener)
  }

  fence(): Fence {
    return this.#shared.fence()
  }

  holds(fence: Fence): boolean {
    return this.#shared.holds(fence)
  }

  find(key: string): Page[] {
    return this.#shared.read<Page[]>([], (index) => index.reads.find(key, this.#options.now()))
  }

  findByUrl(url: string): Page[] {
    return this.#shared.read<Page[]>([], (index) => index.reads.findByUrl(url))
  }

  list(filter: PageFilter): { total: number; items: Page[] } {
    return this.#shared.read({ total: 0, items: [] }, (index) => index.reads.list(filter))
  }

  counters(): Record<PageType, TypeCounters> {
    return this.#shared.read(emptyCounters(), (index) => index.counters.all())
  }

  count(selection: Selection): Promise<number> {
    return Promise.resolve(this.#shared.read(0, (index) => index.reads.count(unique(selection))))
  }

  damaged(): number {
    return this.#reads.damaged
  }

  unstored(): number {
    return this.#unstored
  }

  readBody(page: Page): Promise<Buffer | null> {
    return this.#track(this.#reads.all(page))
  }

  openBody(page: Page): Promise<OpenBody | null> {
    return this.#track(this.#reads.open(page))
  }

  async openSpool(): Promise<Spool | null> {
    const open = this.#room.retry(() => this.#bodies.openNameless())
    const handle = await this.#track(unlessStorageFails(open))
    return handle && new Spool(handle, (write) => this.#room.retry(write))
  }

  put(draft: PageDraft, body: Buffer, fence: Fence): Promise<Page | null> {
    return this.#track(this.#put(draft, body, fence))
  }

  async #put(draft: PageDraft, body: Buffer, fence: Fence): Promise<Page | null> {
    const { maxSize } = this.#options
    const { current } = this.#shared
    if (current === null) this.#unstored += 1
    if (current?.generation !== fence.generation) return null
    if (body.length > maxSize) return null
    const written = await this.#write(draft.key, body)
    if (written === null) return null
    let page: Page | null = null
    // Placed only once: the commit may be retried after the body already has its final name.
    let place = () => {
      this.#bodies.place(written)
      place = () => undefined
    }
    try {
      page = await this.#room.retry(() =>
        this.#shared.write((index) => index.write(() => this.#store(index, draft, written, fence, () => place()))),
      )
      if (page !== null) this.#shared.renewals.own(page.id)
      this.#housekeeper.wake()
    } catch (error) {
      if (!isStorageError(error)) throw error
      this.#unstored += 1
    } finally {
      if (page === null) await this.#bodies.discard(written)
    }
    return page
  }

  async #write(key: string, body: Buffer): Promise<WrittenBody | null> {
    try {
      // Below the floor a page replaces others; it must not use the space reserved for records.
      const fits = !this.#room.isShort || (await this.#room.make(roomForOne)) > 0 || !(await this.#room.look())
      if (fits) return await this.#room.retry(() => this.#bodies.write(key, body))
    } catch (error) {
      this.#shared.fail(error)
      this.#housekeeper.wake()
    }
    this.#unstored += 1
    return null
  }

  /** Runs inside the write transaction. */
  #store(index: PageIndex, draft: PageDraft, body: WrittenBody, fence: Fence, place: () => void): Page | null {
    if (!index.log.admits(fence, draft)) return null
    const { maxVariants, maxSize, now } = this.#options
    const { file, size, digest } = body
    const page = index.writes.insert(draft, { file, size, digest }, maxVariants ?? defaultMaxVariants, now())
    if (index.counters.totals().size > maxSize) {
      index.evict(maxSize, evictionSlice)
      this.#housekeeper.evict()
    }
    place()
    return page
  }

  freshen(page: Page, draft: PageDraft, fence: Fence): Promise<Page | null> {
    return this.#track(this.#freshen(page, draft, fence))
  }

  async #freshen(page: Page, draft: PageDraft, fence: Fence): Promise<Page | null> {
    if (this.#shared.current === null) return null
    const store = (index: PageIndex) =>
      index.log.admits(fence, draft) ? index.writes.freshen(page, draft, this.#options.now()) : null
    return unlessStorageFails(this.#room.retry(() => this.#shared.write((index) => index.write(() => store(index)))))
  }

  recordHits(hits: readonly HitCount[]): void {
    if (this.#shared.current === null || hits.length === 0) return
    const adding = this.#shared.write((index) => index.write(() => index.writes.addHits(hits)))
    void this.#track(unlessStorageFails(adding))
  }

  remove(selection: Selection, options?: RemoveOptions): Promise<number> {
    return this.#track(this.#remove(selection, options))
  }

  handOver(worker: RemovalWorker | null): void {
    this.#worker = worker
    this.#housekeeper.leaveReaping(worker === null ? null : () => worker.cleanUp())
  }

  cleanUp(): void {
    this.#housekeeper.wake()
  }

  removeTogether(removals: readonly SharedRemoval[]): Promise<SharedRemoved[]> {
    return this.#track(this.#remover.takeTogether(removals))
  }

  async taken(trace: number, after: number, limit: number): Promise<Taken[]> {
    const found = this.#shared.read<Taken[]>([], (index) => index.traces.taken(trace, after, limit))
    return found.length > 0 ? found : takenByClear(this.#options.directory, trace, after, limit)
  }

  release(traces: readonly number[]): Promise<void> {
    return this.#track(this.#housekeeper.release(traces))
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
    return this.#track(this.#housekeeper.sweep())
  }

  async close(): Promise<void> {
    await this.#housekeeper.stop()
    await Promise.allSettled(this.#running)
    this.#shared.close()
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work)
    try {
      return await work
    } finally {
      this.#running.delete(work)
    }
  }
}
