import type { ErrorMessage } from '../errors.ts'
import type { Page, PageDraft } from './page.ts'
import { toRecord } from './page-row.ts'
import type { Fence, NewPage, PreparedPage, Rejection, StoredHits } from './page-store.ts'
import { toHead } from './prepared-page.ts'

/** Most pages per transaction of the writer thread: five milliseconds, since other processes wait for it. */
export const groupPages = 128

/** The start data of the writer thread. */
export interface WriterData {
  /** The application cache directory. */
  directory: string
  /** As in `FilesystemStoreOptions`. */
  maxSize: number | null
  maxVariants: number
}

/**
 * A task for the writer thread. `pages` stores a group of pages; `recode` compresses a stored page thoroughly. `null`:
 * finish and exit.
 */
export type WriterTask =
  | GroupTask
  | { kind: 'freshen'; page: Page; draft: PageDraft; fence: Fence }
  | { kind: 'hits'; hits: readonly StoredHits[] }
  | { kind: 'recode'; page: Page }

/**
 * `pages`: as JSON, which takes a third of the time of a structured clone. `records`: the JSON that the index stores, which the writer need not
 * parse. `bodies`: one after the other, so that one buffer is handed over for all.
 */
interface GroupTask {
  kind: 'pages'
  pages: string
  records: string[]
  bodies: Uint8Array<ArrayBuffer>
}

/** The `size` bytes of a body follow those of the pages before. */
type SentPage = Omit<PreparedPage, 'record' | 'body'> & { size: number }

/** @param group pages whose times are finite, as JSON needs it */
export function toGroupTask(group: readonly NewPage[]): GroupTask {
  const records = group.map(({ draft }) => toRecord(draft))
  const pages = group.map(({ draft, fence, file, body }): SentPage => ({
    head: toHead(draft),
    fence,
    file,
    size: body.length,
  }))
  const bodies = new Uint8Array(group.reduce((sum, { body }) => sum + body.length, 0))
  let at = 0
  for (const { body } of group) {
    bodies.set(body, at)
    at += body.length
  }
  return { kind: 'pages', pages: JSON.stringify(pages), records, bodies }
}

export function toGroup({ pages, records, bodies }: GroupTask): PreparedPage[] {
  let start = 0
  return (JSON.parse(pages) as SentPage[]).map(({ head, fence, file, size }, at) => {
    const body = Buffer.from(bodies.buffer, bodies.byteOffset + start, size)
    start += size
    return { head, record: records[at]!, body, fence, file }
  })
}

/** Hits per transaction. */
const groupHits = 200

export function toHitTasks(hits: readonly StoredHits[]): Extract<WriterTask, { kind: 'hits' }>[] {
  const counts = hits.map(({ page, hits, ms, usedAt }) => ({ page: { id: page.id }, hits, ms, usedAt }))
  return Array.from({ length: Math.ceil(counts.length / groupHits) }, (_, at) => ({
    kind: 'hits',
    hits: counts.slice(at * groupHits, (at + 1) * groupHits),
  }))
}

/** `now`: the clock of the serving thread, in milliseconds since the epoch. */
export type ToWriter = { task: WriterTask; now: number } | null

/** The ids of the stored pages, and the reasons for those that were not stored. `failed`: how many of these because storage failed. */
export interface GroupWritten {
  stored: (number | Rejection)[]
  failed: number
}

export type WriterAnswer = GroupWritten | Page | Rejection | null

export type FromWriter =
  | { kind: 'opened' }
  | { kind: 'answer'; value: WriterAnswer }
  | { kind: 'error'; error: ErrorMessage }
