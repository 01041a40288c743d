import type { ErrorMessage } from '../errors.ts'
import type { Batch, Waiting } from './batches.ts'
import { newBodyFile } from './body-files.ts'
import type { Page, PageDraft } from './page.ts'
import type { Fence, PreparedPage, Rejection, StoredHits } from './page-store.ts'
import { pieceSize } from './piece-digests.ts'
import { fromText, toText } from './prepared-page.ts'

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
 * `memory`: the body of each page and its text (`toText`), one after the other. It belongs to both threads, or is handed
 * over if it is one large page. `sizes`: in turn of a body and of a text, in bytes. `files`: for each page.
 */
interface GroupTask {
  kind: 'pages'
  memory: Uint8Array
  sizes: number[]
  files: string[]
}

/** Small bodies share a file. Its name is new for each attempt: the row of an earlier one may exist, so its file must not be written again. */
export function toGroupTask(batch: Batch): GroupTask {
  const shared = newBodyFile(batch.pages[0]!.page.key)
  const files = batch.pages.map(({ page }) => (page.size <= pieceSize ? shared : newBodyFile(page.key)))
  if (batch.isShared) return { kind: 'pages', memory: batch.memory, sizes: batch.sizes, files }
  const [{ page, fence }] = batch.pages as [Waiting]
  const text = Buffer.from(toText(page, fence))
  const sizes = [batch.memory.length, text.length]
  return { kind: 'pages', memory: Buffer.concat([batch.memory, text]), sizes, files }
}

export function toGroup({ memory, sizes, files }: GroupTask): PreparedPage[] {
  const whole = Buffer.from(memory.buffer, memory.byteOffset, memory.byteLength)
  let at = 0
  const next = (size: number) => whole.subarray(at, (at += size))
  return files.map((file, page) => {
    const body = next(sizes[2 * page]!)
    return { ...fromText(next(sizes[2 * page + 1]!)), body, file }
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
