import type { Database, Statement } from 'better-sqlite3'
import type { Counters, Sums } from './counters.ts'
import { decayedHits } from './decayed-hits.ts'
import type { PageDraft, PageType } from './page.ts'
import { live, type StoredBody } from './page-reads.ts'
import {
  hashKey,
  hitsOf,
  pageColumns,
  sealOf,
  storedColumns,
  toMicroseconds,
  toPage,
  unconfirmedMark,
  variantOf,
  type PageRow,
} from './page-row.ts'
import type { PageWrites } from './page-writes.ts'
import type { PageHead, PreparedPage, Stored } from './page-store.ts'

/** In the order of the statement's parameters: binding them by name takes several times as long. */
type InsertedRow = [
  keyHash: number,
  type: PageType,
  epoch: number,
  usedAt: number,
  hits: number,
  hitUs: number,
  size: number,
  originalSize: number,
  generationUs: number,
  cachedAt: number,
  deleteAt: number,
  seal: number,
  digest: Buffer,
  file: string,
  fileSize: number,
  at: number,
  key: string,
  url: string,
  record: Buffer,
]

interface Settings {
  maxVariants: number
  now: number
}

/** Inserts pages. Every method runs inside the caller's transaction. */
export class PageInserts {
  readonly #counters: Counters
  readonly #writes: Pick<PageWrites, 'kill' | 'evict'>
  readonly #insertQuery: Statement<InsertedRow>
  readonly #getVariantsQuery: Statement<[string, number, string], PageRow>
  readonly #getUrlsQuery: Statement<[string], string>
  readonly #getIdsOfUrlQuery: Statement<[string, string], { id: number; unconfirmed: number; same: number }>

  constructor(database: Database, counters: Counters, writes: Pick<PageWrites, 'kill' | 'evict'>) {
    this.#counters = counters
    this.#writes = writes
    this.#insertQuery = database.prepare(
      `INSERT INTO page (${storedColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT))`,
    )
    this.#getVariantsQuery = database.prepare(`
      SELECT ${pageColumns} FROM page p WHERE p.url = ? AND p.key_hash = ? AND p.key = ? AND ${live}`)
    this.#getUrlsQuery = database
      .prepare<[string], string>('SELECT j.value FROM json_each(?) j CROSS JOIN page p ON p.url = j.value')
      .pluck()
    this.#getIdsOfUrlQuery = database.prepare(`
      SELECT p.id, instr(p.key, '${unconfirmedMark}') > 0 AS unconfirmed, p.key = ? AS same FROM page p
      WHERE p.url = +? AND ${live} ORDER BY unconfirmed DESC, p.used_at, p.id`)
  }

  /**
   * Returns the function that inserts the pages of a group, which share look-ups. Their tags (`PageWrites.link`) and
   * counters (`Counters.together`) are left to the caller.
   * @param now milliseconds since the epoch
   */
  for(group: readonly PageHead[], settings: Settings): (page: Prepared, body: StoredBody) => Stored {
    const known = new Set(this.#getUrlsQuery.all(JSON.stringify(group.map(({ url }) => url))))
    const epochs = new Map<PageType, number>()
    return (page, body) => {
      const { url, type } = page.head
      const counted = known.has(url) ? this.#replaceVariants(page, settings.maxVariants) : { hits: 0, hitUs: 0 }
      known.add(url)
      const epoch = epochs.get(type) ?? this.#counters.epoch(type)
      epochs.set(type, epoch)
      return this.#insert(page, body, epoch, counted, settings.now)
    }
  }

  #insert({ head, record }: Prepared, body: StoredBody, epoch: number, { hits, hitUs }: Counted, now: number): Stored {
    const { key, url, type, originalSize, cachedAt, deleteAt, generationMs } = head
    const { file, fileSize, at, size, digest } = body
    const seal = sealOf({ key, url, type, record, file, file_size: fileSize, at, size, digest })
    const generationUs = toMicroseconds(generationMs)
    const { lastInsertRowid } = this.#insertQuery.run(
      hashKey(key),
      type,
      epoch,
      now,
      hits,
      hitUs,
      size,
      originalSize,
      generationUs,
      cachedAt,
      deleteAt,
      seal,
      digest,
      file,
      fileSize,
      at,
      key,
      url,
      record,
    )
    this.#counters.add(type, { count: 1, originalSize, size, generationUs, hits, hitUs })
    return { id: Number(lastInsertRowid), size, hits, hitMs: hitUs / 1000, usedAt: now }
  }

  /**
   * Removes the variant that a page renews, whose hits it continues to count; returns these. Beyond `maxVariants` of the
   * page's URL it evicts the least recently used ones: per URL rather than per key, since visitors choose the cookies in
   * a key. Variants of unconfirmed visitors are evicted first and evict only each other, so that forged variants never
   * evict confirmed ones.
   */
  #replaceVariants({ head, record }: Prepared, maxVariants: number): Counted {
    const known = this.#getIdsOfUrlQuery.all(head.key, head.url)
    const isRenewal = known.some(({ same }) => same === 1)
    const variant = isRenewal ? variantOf(JSON.parse(record.toString()) as PageDraft) : ''
    const rows = isRenewal ? this.#getVariantsQuery.all(head.url, hashKey(head.key), head.key) : []
    const replaced = rows.map((row) => ({ row, old: toPage(row) })).filter(({ old }) => variantOf(old) === variant)
    const doomed = replaced.map(({ row }) => row.id)
    const others = known.filter(({ id }) => !doomed.includes(id))
    const evictable = head.key.includes(unconfirmedMark)
      ? others.filter(({ unconfirmed }) => unconfirmed === 1)
      : others
    if (doomed.length > 0) this.#writes.kill(doomed)
    const surplus = Math.max(0, others.length - maxVariants + 1)
    if (surplus > 0)
      this.#writes.evict(
        evictable.slice(0, surplus).map(({ id }) => id),
        'variants',
      )
    const kept = replaced.map(({ row, old }) => decayedHits(hitsOf(row), old.cachedAt, head.cachedAt))
    return {
      hits: kept.reduce((sum, { hits }) => sum + hits, 0),
      hitUs: kept.reduce((sum, { hitUs }) => sum + hitUs, 0),
    }
  }
}

type Prepared = Pick<PreparedPage, 'head' | 'record'>
type Counted = Pick<Sums, 'hits' | 'hitUs'>
