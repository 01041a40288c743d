import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { isStorageError } from './faults.ts'
import type { BodyFiles, WrittenBody } from './body-files.ts'
import type { Housekeeper } from './housekeeper.ts'
import type { PageIndex } from './page-index.ts'
import type { Page } from './page.ts'
import type { NewPage } from './page-store.ts'
import type { Room } from './room.ts'
import type { SharedIndex } from './shared-index.ts'

/** The most pages that one group evicts; the rest is evicted in the background. */
const evictionSlice = 64
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

  /** Resolves to the stored pages in order; null for each that was not stored. */
  async write(group: readonly NewPage[]): Promise<(Page | null)[]> {
    const { shared, bodies, room } = this.#parts
    // The serving thread may already use the index that followed a clear.
    shared.poll()
    const written: (WrittenBody | null)[] = []
    for (const page of group) written.push(await this.#writeBody(page))
    await yieldToOthers()
    let stored: (Page | null)[] = group.map(() => null)
    if (written.every((body) => body === null)) return stored
    try {
      stored = await room.retry(() => shared.write((index) => index.write(() => this.#insert(index, group, written))))
      for (const page of stored) if (page !== null) shared.renewals.own(page.id)
    } catch (error) {
      if (!isStorageError(error)) throw error
      this.#failed += written.filter((body) => body !== null).length
    } finally {
      const lost = written.filter((body, at): body is WrittenBody => body !== null && stored[at] === null)
      await Promise.all(lost.map((body) => bodies.discard(body)))
    }
    return stored
  }

  /** Null when the page cannot be stored. */
  async #writeBody({ file, body, fence }: NewPage): Promise<WrittenBody | null> {
    const { shared, bodies, room, maxSize, housekeeper } = this.#parts
    if (shared.current === null) this.#failed += 1
    if (shared.current?.generation !== fence.generation || body.length > maxSize) return null
    try {
      // Below the floor a page replaces others; it must not use the space reserved for records.
      const fits = !room.isShort || (await room.make(roomForOne)) > 0 || !(await room.look())
      if (fits) return await room.retry(async () => bodies.write(file, body))
    } catch (error) {
      shared.fail(error)
      housekeeper.wake()
    }
    this.#failed += 1
    return null
  }

  /** Runs inside the write transaction, which may be repeated. */
  #insert(index: PageIndex, group: readonly NewPage[], written: readonly (WrittenBody | null)[]): (Page | null)[] {
    const { maxSize, maxVariants, now, bodies, housekeeper } = this.#parts
    const admits = index.log.judge()
    const stored = group.map(({ draft, fence }, at) => {
      const body = written[at] ?? null
      if (body === null || !admits(fence, draft)) return null
      const { file, size, digest } = body
      return index.writes.insert(draft, { file, size, digest }, maxVariants, now())
    })
    index.writes.link(stored.filter((page) => page !== null))
    if (index.counters.totals().size > maxSize) {
      index.evict(maxSize, Math.max(evictionSlice, group.length))
      housekeeper.evict()
    }
    for (const [at, page] of stored.entries()) if (page !== null) bodies.place(written[at]!)
    return stored
  }
}
