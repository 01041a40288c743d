import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { letVisitorsIn } from '../lib/priority.ts'
import { isStorageError, unlessStorageFails } from './faults.ts'
import type { BodyFiles, WrittenFile } from './body-files.ts'
import type { Housekeeper } from './housekeeper.ts'
import type { PageIndex } from './page-index.ts'
import type { StoredBody } from './page-reads.ts'
import type { Page, PageDraft } from './page.ts'
import type { Fence, PreparedPage, Rejection, Stored } from './page-store.ts'
import type { RemovalLog } from './removals.ts'
import type { Room } from './room.ts'
import type { SharedIndex } from './shared-index.ts'

/** The most pages that one group evicts; the rest is evicted in the background. */
const evictionSlice = 64
/** Pages that are inserted without a pause: about a quarter of a millisecond. */
const insertsAtOnce = 2
/** Pages whose tags are linked without a pause: about as long. Each slice looks its tags up again. */
const linksAtOnce = 8
/** More pages than come within the time for which they are gathered, unless there are over 1,280 per second. */
const largeGroup = 64
/** Pages evicted to store one page while the file system is short of space. */
const roomForOne = 4

interface Parts {
  shared: SharedIndex
  bodies: BodyFiles
  room: Room
  maxSize: number
  maxVariants: number
  now: () => number
  housekeeper: Housekeeper
}

/** A body, and the file that it is in. */
interface Written {
  file: WrittenFile
  body: StoredBody
}

/** Stores pages in groups: the bodies first, then all rows in one transaction that checks the fences. */
export class GroupWrites {
  readonly #parts: Parts
  #failed = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Pages not stored for lack of space, permission or a turn to write. */
  get failed(): number {
    return this.#failed
  }

  /** Resolves to the stored pages in order, or why each was not stored. */
  async write(group: readonly PreparedPage[]): Promise<(Stored | Rejection)[]> {
    const { shared, bodies, room, maxSize, housekeeper } = this.#parts
    const bytes = group.reduce((sum, { body }) => sum + (body.length <= maxSize ? body.length : 0), 0)
    pauseIn(group)
    await unlessStorageFails(housekeeper.keepToLimit(bytes))
    const written = new Map<PreparedPage, Written>()
    let stored = this.#judge(group)
    const storable = group.filter((_, at) => stored[at] !== 'invalidated')
    for (const [file, sharing] of Map.groupBy(storable, ({ file: name }) => name))
      await this.#writeFile(file, sharing, written)
    pauseIn(group)
    await yieldToOthers()
    if (written.size === 0) return stored
    try {
      stored = await room.retry(() => shared.write((index) => index.write(() => this.#insert(index, group, written))))
      pauseIn(group)
      for (const [at, page] of stored.entries())
        if (typeof page !== 'string') shared.renewals.own({ id: page.id, key: group[at]!.head.key })
    } catch (error) {
      if (!isStorageError(error)) throw error
      this.#failed += written.size
    } finally {
      const unneeded = new Set([...written.values()].map(({ file }) => file))
      for (const [at, page] of group.entries())
        if (typeof stored[at] !== 'string') unneeded.delete(written.get(page)!.file)
      await Promise.all([...unneeded].map((file) => bodies.discard(file)))
    }
    return stored
  }

  /** Replaces the headers and times of a page, unless it was removed. */
  async freshen(page: Page, draft: PageDraft, fence: Fence): Promise<Page | Rejection> {
    const { shared, room, now } = this.#parts
    const renew = (index: PageIndex) =>
      index.log.rejection(fence, draft) ?? index.writes.freshen(page, draft, now()) ?? 'removed'
    const storing = room.retry(() => shared.write((index) => index.write(() => renew(index))))
    return (await unlessStorageFails(storing)) ?? 'unavailable'
  }

  /** Why each page is not stored if its body cannot be written. */
  #judge(group: readonly PreparedPage[]): (Stored | Rejection)[] {
    // Polls: the serving thread may already use the index that followed a clear.
    const reject = this.#parts.shared.read<ReturnType<RemovalLog['judge']>>(
      () => null,
      (index) => index.log.judge(),
    )
    return group.map(({ fence, head }) => reject(fence, head) ?? 'unavailable')
  }

  /** Writes the bodies that share a file, except those of pages that cannot be stored. */
  async #writeFile(file: string, sharing: readonly PreparedPage[], written: Map<PreparedPage, Written>): Promise<void> {
    const { shared, bodies, room, maxSize, housekeeper } = this.#parts
    const pages = shared.current === null ? [] : sharing.filter(({ body }) => body.length <= maxSize)
    if (shared.current === null) this.#failed += sharing.length
    if (pages.length === 0) return
    try {
      // Below the floor pages replace others; they must not use the space reserved for records.
      const fits = !room.isShort || (await room.make(pages.length * roomForOne)) > 0 || !(await room.look())
      if (fits) {
        const content = pages.map(({ body }) => body)
        const made = await room.retry(async () => bodies.write(file, content))
        for (const [at, page] of pages.entries()) written.set(page, { file: made, body: made.bodies[at]! })
        return
      }
    } catch (error) {
      shared.fail(error)
      housekeeper.wake()
    }
    this.#failed += pages.length
  }

  /** Runs inside the write transaction, which may be repeated. */
  #insert(
    index: PageIndex,
    group: readonly PreparedPage[],
    written: ReadonlyMap<PreparedPage, Written>,
  ): (Stored | Rejection)[] {
    const { maxSize, maxVariants, now, bodies, housekeeper } = this.#parts
    const reject = index.log.judge()
    const heads = group.map(({ head }) => head)
    const insert = index.inserts.for(heads, { maxVariants, now: now() })
    const stored = index.counters.together(() =>
      group.map((page, at) => {
        if (at % insertsAtOnce === insertsAtOnce - 1) pauseIn(group)
        const body = written.get(page)?.body ?? null
        const rejection = reject(page.fence, page.head) ?? (body === null ? 'unavailable' : null)
        return rejection ?? insert(page, body!)
      }),
    )
    const tagged = stored.flatMap((page, at) =>
      typeof page === 'string' ? [] : { id: page.id, tags: heads[at]!.tags },
    )
    const atOnce = isLarge(group) ? group.length : linksAtOnce
    for (let at = 0; at < tagged.length; at += atOnce) {
      index.writes.link(tagged.slice(at, at + atOnce))
      pauseIn(group)
    }
    if (index.counters.totals().size > maxSize) {
      index.evict(maxSize, Math.max(evictionSlice, group.length))
      housekeeper.evict()
    }
    for (const [at, page] of group.entries()) if (typeof stored[at] !== 'string') bodies.place(written.get(page)!.file)
    pauseIn(group)
    return stored
  }
}

function isLarge(group: readonly PreparedPage[]): boolean {
  return group.length >= largeGroup
}

/** A large group has no pauses: pages come so fast that the queue would grow. */
function pauseIn(group: readonly PreparedPage[]): void {
  if (!isLarge(group)) letVisitorsIn()
}
