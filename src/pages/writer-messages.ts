import type { ErrorMessage } from '../errors.ts'
import type { Page, PageDraft } from './page.ts'
import type { Fence, NewPage, StoredHits } from './page-store.ts'

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

/** `pages`: all but the bodies as JSON, which takes a third of the time of a structured clone. */
interface GroupTask {
  kind: 'pages'
  pages: string
  bodies: readonly Uint8Array[]
}

/** @param group pages whose times are finite, as JSON needs it */
export function toGroupTask(group: readonly NewPage[]): GroupTask {
  const pages = group.map(({ draft, fence, file }): Omit<NewPage, 'body'> => ({ draft, fence, file }))
  return { kind: 'pages', pages: JSON.stringify(pages), bodies: group.map(({ body }) => body) }
}

export function toGroup({ pages, bodies }: GroupTask): NewPage[] {
  return (JSON.parse(pages) as Omit<NewPage, 'body'>[]).map((page, at) => {
    const { buffer, byteOffset, byteLength } = bodies[at]!
    return { ...page, body: Buffer.from(buffer, byteOffset, byteLength) }
  })
}

/** Hits per transaction. */
const groupHits = 200

export function toHitTasks(hits: readonly StoredHits[]): Extract<WriterTask, { kind: 'hits' }>[] {
  const counts = hits.map(({ page, ...count }) => ({ ...count, page: { id: page.id } }))
  return Array.from({ length: Math.ceil(counts.length / groupHits) }, (_, at) => ({
    kind: 'hits',
    hits: counts.slice(at * groupHits, (at + 1) * groupHits),
  }))
}

/** `now`: the clock of the serving thread, in milliseconds since the epoch. */
export type ToWriter = { task: WriterTask; now: number } | null

/** The ids of the stored pages, null for each that was not stored. `failed`: how many of them because storage failed. */
export interface GroupWritten {
  ids: (number | null)[]
  failed: number
}

export type WriterAnswer = GroupWritten | Page | null

export type FromWriter =
  | { kind: 'opened' }
  | { kind: 'answer'; value: WriterAnswer }
  | { kind: 'error'; error: ErrorMessage }
