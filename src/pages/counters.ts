import type { Database, Statement } from 'better-sqlite3'
import { pageTypes, type PageType } from './page.ts'
import type { TypeCounters } from './page-store.ts'

/** Sums over pages; times in whole microseconds. */
export interface Sums {
  count: number
  originalSize: number
  size: number
  generationUs: number
  hits: number
  hitUs: number
}

interface StatRow extends Sums {
  type: PageType
}

/**
 * The statistics, one row per type, changed in the transactions that change the pages. Only live pages count: a page is
 * live while its epoch equals that of its type, so clearing a type is a single update.
 */
export class Counters {
  readonly #getAllQuery: Statement<[], StatRow>
  readonly #getEpochQuery: Statement<[PageType], number>
  readonly #getTotalsQuery: Statement<[], { count: number; size: number }>
  readonly #addQuery: Statement<[StatRow]>
  readonly #clearQuery: Statement<[PageType]>
  readonly #getDeadSizeQuery: Statement<[], number>
  readonly #addDeadQuery: Statement<[number]>
  /** The sums gathered by `together` so far; null outside of it. */
  #gathered: Map<PageType, Sums> | null = null

  constructor(database: Database) {
    this.#getAllQuery = database.prepare(`
      SELECT type, count, original_size AS originalSize, size, generation_us AS generationUs, hits, hit_us AS hitUs
      FROM stat`)
    this.#getEpochQuery = database.prepare<[PageType], number>('SELECT epoch FROM stat WHERE type = ?').pluck()
    this.#getTotalsQuery = database.prepare('SELECT sum(count) AS count, sum(size) AS size FROM stat')
    this.#addQuery = database.prepare(`
      UPDATE stat SET count = count + @count, original_size = original_size + @originalSize, size = size + @size,
        generation_us = generation_us + @generationUs, hits = hits + @hits, hit_us = hit_us + @hitUs
      WHERE type = @type`)
    this.#clearQuery = database.prepare(`
      UPDATE stat SET epoch = epoch + 1, count = 0, original_size = 0, size = 0, generation_us = 0, hits = 0, hit_us = 0
      WHERE type = ?`)
    this.#getDeadSizeQuery = database.prepare<[], number>('SELECT dead_size FROM meta').pluck()
    this.#addDeadQuery = database.prepare('UPDATE meta SET dead_size = max(0, dead_size + ?)')
  }

  all(): Record<PageType, TypeCounters> {
    const counters = emptyCounters()
    for (const row of this.#getAllQuery.all()) {
      counters[row.type] = {
        count: row.count,
        originalSize: row.originalSize,
        size: row.size,
        generationMs: row.generationUs / 1000,
        hits: row.hits,
        hitMs: row.hitUs / 1000,
      }
    }
    return counters
  }

  totals(): { count: number; size: number } {
    return this.#getTotalsQuery.get() ?? { count: 0, size: 0 }
  }

  /** Bytes of the bodies of dead pages, which are still on the disk. */
  deadSize(): number {
    return this.#getDeadSizeQuery.get() ?? 0
  }

  /** Adds the bytes of pages that have become dead, or subtracts those of dead pages whose rows are deleted. */
  addDead(bytes: number): void {
    this.#addDeadQuery.run(bytes)
  }

  epoch(type: PageType): number {
    return this.#getEpochQuery.get(type) ?? 0
  }

  add(type: PageType, sums: Sums): void {
    if (this.#gathered === null) return void this.#addQuery.run({ ...sums, type })
    const before = this.#gathered.get(type)
    this.#gathered.set(type, before === undefined ? sums : plus(before, sums))
  }

  subtract(type: PageType, sums: Sums): void {
    this.add(type, {
      count: -sums.count,
      originalSize: -sums.originalSize,
      size: -sums.size,
      generationUs: -sums.generationUs,
      hits: -sums.hits,
      hitUs: -sums.hitUs,
    })
  }

  /** Runs the work of a transaction that changes the sums often. They are written once per type, at its end. */
  together<T>(work: () => T): T {
    const gathered = (this.#gathered = new Map<PageType, Sums>())
    try {
      const result = work()
      for (const [type, sums] of gathered) this.#addQuery.run({ ...sums, type })
      return result
    } finally {
      this.#gathered = null
    }
  }

  /** Makes all pages of a type dead in constant time. Returns how many were live. */
  clear(type: PageType): number {
    const { count, size } = this.all()[type]
    this.addDead(size)
    this.#clearQuery.run(type)
    return count
  }
}

export function emptyCounters(): Record<PageType, TypeCounters> {
  const entries = pageTypes.map((type) => [
    type,
    { count: 0, originalSize: 0, size: 0, generationMs: 0, hits: 0, hitMs: 0 },
  ])
  return Object.fromEntries(entries) as Record<PageType, TypeCounters>
}

function plus(one: Sums, other: Sums): Sums {
  return {
    count: one.count + other.count,
    originalSize: one.originalSize + other.originalSize,
    size: one.size + other.size,
    generationUs: one.generationUs + other.generationUs,
    hits: one.hits + other.hits,
    hitUs: one.hitUs + other.hitUs,
  }
}
