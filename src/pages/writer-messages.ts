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
  | { kind: 'pages'; group: readonly NewPage[] }
  | { kind: 'freshen'; page: Page; draft: PageDraft; fence: Fence }
  | { kind: 'hits'; hits: readonly StoredHits[] }
  | { kind: 'recode'; page: Page }

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
