import type { ErrorMessage } from '../errors.ts'
import type { NewMessage } from '../queue/queue.ts'
import type { Invalidated, Invalidation } from './invalidation.ts'

/** What the thread that purges is started with. */
export interface PurgerData {
  /** Directory of the records. */
  dataDir: string
  /** The application cache directory. */
  cacheDir: string
  /** Of the page store, as in `FilesystemStoreOptions`. */
  maxSize: number | null
  maxVariants: number
  proxies: readonly string[]
  followUp: NewMessage | null
  /** Threads of this process that ended over their work. */
  endedThreads: readonly number[]
}

/** Purges to be carried out; `invalidation` null: catch up with what others left. Null: finish, and end. */
export type ToThread = readonly { id: number; invalidation: Invalidation | null }[] | null

export type PurgerAnswer = { id: number; value: Invalidated | number } | { id: number; error: ErrorMessage }

/** `opened`: true, or why the thread could not begin. */
export interface FromThread {
  opened: true | ErrorMessage
  answers: PurgerAnswer[]
}
