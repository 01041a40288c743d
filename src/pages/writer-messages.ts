import type { ErrorMessage } from '../errors.ts'
import type { Batch } from './batches.ts'
import { newBodyFile } from './body-files.ts'
import type { Page, PageDraft } from './page.ts'
import { toRecord } from './page-row.ts'
import type { Fence, PreparedPage, Rejection, StoredHits } from './page-store.ts'
import { pieceSize } from './piece-digests.ts'
import { toHead } from './prepared-page.ts'

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
 * parse. `bodies`: in memory of both threads, or one large body, which is handed over.
 */
interface GroupTask {
  kind: 'pages'
  pages: string
  records: string[]
  bodies: Uint8Array
}

/** `start`, `size`: where its body is. */
type SentPage = Omit<PreparedPage, 'record' | 'body'> & { start: number; size: number }

/** Small bodies share a file. Its name is new for each attempt: the row of an earlier one may exist, so its file must not be written again. */
export function toGroupTask({ pages, bodies, isShared }: Batch): { task: GroupTask; files: string[] } {
  const shared = newBodyFile(pages[0]!.page.key)
  const sent = pages.map(({ page, fence, start }): SentPage => {
    const file = page.size <= pieceSize ? shared : newBodyFile(page.key)
    return { head: toHead(page), fence, file, start, size: page.size }
  })
  const records = pages.map(({ page }) => toRecord(page))
  const task = { kind: 'pages', pages: JSON.stringify(sent), records } as const
  const files = [...new Set(sent.map(({ file }) => file))]
  return { task: { ...task, bodies: isShared ? bodies : new Uint8Array(bodies) }, files }
}

export function toGroup({ pages, records, bodies }: GroupTask): PreparedPage[] {
  return (JSON.parse(pages) as SentPage[]).map(({ head, fence, file, start, size }, at) => {
    const body = Buffer.from(bodies.buffer, bodies.byteOffset + start, size)
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
