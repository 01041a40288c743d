import { crc32 } from 'node:zlib'
import { DamagedIndex } from './faults.ts'
import type { Page, PageDraft, PageType } from './page.ts'

/** A row of the index. Fields that no query needs are JSON in `record`. */
export interface PageRow {
  id: number
  key: string
  url: string
  type: PageType
  used_at: number
  hits: number
  hit_us: number
  size: number
  file: string
  file_size: number
  /** Offset of the body in its file, in bytes. */
  at: number
  digest: Buffer
  record: string
  seal: number
  /** When a soft purge made it stale, in milliseconds since the epoch. */
  stale_at?: number | null
}

/** All columns of a `PageRow` but those that a look-up by key knows. */
export const columnsBesidesKey =
  'p.id, p.type, p.used_at, p.hits, p.hit_us, p.size, p.file, p.file_size, p.at, p.digest, p.record, p.seal, (SELECT z.at FROM stale z WHERE z.page_id = p.id) AS stale_at'

export const pageColumns = `p.key, p.url, ${columnsBesidesKey}`

/** All columns of a page except its id. */
export const storedColumns = `key_hash, type, epoch, used_at, hits, hit_us, size, original_size, generation_us, cached_at,
  delete_at, seal, digest, file, file_size, at, key, url, record`

/** Marks the key of visitors with an unconfirmed variant. Visitors cannot put a newline into a key. */
export const unconfirmedMark = '\nvisitor '

/** The URL of a key, by which the index finds it. A key begins with its channel, a space and the URL; further lines follow. */
export function urlOf(key: string): string {
  const end = key.indexOf('\n')
  const line = end < 0 ? key : key.slice(0, end)
  return line.slice(line.indexOf(' ') + 1)
}

/** Tells the keys of a URL apart in the index. Anyone can find keys with equal hashes: a URL has too few for that to matter. */
export function hashKey(key: string): number {
  return crc32(key)
}

export function hitsOf({ hits, hit_us: hitUs }: PageRow): { hits: number; hitUs: number } {
  return { hits, hitUs }
}

/** Whole microseconds keep sums exact under addition and subtraction. */
export function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000)
}

/** Identifies a variant under one key: the secondary key and the range. */
export function variantOf(draft: Pick<PageDraft, 'vary' | 'range'>): string {
  const names = Object.keys(draft.vary).sort()
  return JSON.stringify([names.map((name) => [name, draft.vary[name]]), draft.range])
}

/** Clamps to safe integers: JSON cannot represent infinity. */
function finite(value: number): number {
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value))
}

/** The times of a page as its row has them, so that a page is the same before and after it is stored. */
export function finiteTimes(draft: PageDraft) {
  return {
    initialAge: finite(draft.initialAge),
    lifetime: finite(draft.lifetime),
    staleWhileRevalidate: finite(draft.staleWhileRevalidate),
    staleIfError: finite(draft.staleIfError),
    staleAt: finite(draft.staleAt),
    deleteAt: finite(draft.deleteAt),
  } satisfies Partial<PageDraft>
}

export function toRecord(draft: PageDraft): string {
  return JSON.stringify({
    channelId: draft.channelId,
    tags: draft.tags,
    status: draft.status,
    headers: draft.headers,
    vary: draft.vary,
    states: draft.states,
    cachedAt: draft.cachedAt,
    ...finiteTimes(draft),
    staleAllowed: draft.staleAllowed,
    noCache: draft.noCache,
    range: draft.range,
    encoding: draft.encoding,
    originalSize: draft.originalSize,
    generationMs: draft.generationMs,
    ...(draft.fragments !== undefined && { fragments: draft.fragments }),
  } satisfies Omit<PageDraft, 'key' | 'url' | 'type'>)
}

type Sealed = Pick<PageRow, 'key' | 'url' | 'type' | 'file' | 'file_size' | 'at' | 'size' | 'digest'> & {
  record: string | Buffer
}

/** A checksum over the served content of a row: SQLite does not detect an altered byte within a text. */
export function sealOf(row: Sealed): number {
  const fields = `${row.key}\0${row.url}\0${row.type}\0${row.file}\0${row.file_size}\0${row.at}\0${row.size}\0`
  return crc32(row.digest, crc32(row.record, crc32(fields)))
}

/** @throws DamagedIndex when the row is not what was written */
export function toPage(row: PageRow): Page {
  if (row.seal !== sealOf(row)) throw new DamagedIndex(`The page index holds an altered row (${row.id})`)
  const record = JSON.parse(row.record) as Omit<PageDraft, 'key' | 'url' | 'type'>
  return {
    id: row.id,
    key: row.key,
    url: row.url,
    type: row.type,
    ...record,
    staleAt: Math.min(record.staleAt, row.stale_at ?? Infinity),
    size: row.size,
    hits: row.hits,
    hitMs: row.hit_us / 1000,
    usedAt: row.used_at,
  }
}
