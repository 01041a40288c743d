import type { ErrorMessage } from '../errors.ts'
import type { SharedRemoval } from '../pages/page-store.ts'
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

/** What the thread is asked for. `remove`: pages go, and no log tells of it. `catchUp`: what other processes left behind is carried out. */
export type PurgerTask =
  | { kind: 'invalidate'; invalidation: Invalidation }
  | { kind: 'remove'; removal: Omit<SharedRemoval, 'trace'> }
  | { kind: 'catchUp' }
  | { kind: 'cleanUp' }

/** Null: finish, and end. */
export type ToThread = readonly { id: number; task: PurgerTask }[] | null

export type PurgerAnswer = { id: number; value: Invalidated | number } | { id: number; error: ErrorMessage }

/** `opened`: true, or why the thread could not begin. */
export interface FromThread {
  opened: true | ErrorMessage
  answers: PurgerAnswer[]
}
