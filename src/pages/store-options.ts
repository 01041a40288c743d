import type { KnownKeys } from './known-keys.ts'

export interface FilesystemStoreOptions {
  /** The application cache directory of the environment. */
  directory: string
  /**
   * Limit of all bodies in bytes. Null: the one that the daemon published, else 10 GB or a tenth of the space available
   * to them, whichever is less.
   */
  maxSize: number | null
  /** Whether this process chooses the limit for the other processes on the store, as the daemon does. */
  publishesLimit?: boolean
  /** The most variants kept per URL. */
  maxVariants?: number
  /** Milliseconds since the epoch. */
  now: () => number
  onWarning: (message: string) => void
  /** How long a write waits for other processes, in milliseconds. */
  patience?: number
  /** Whether a thread stores the pages (`PageStore.take`), so that visitors do not wait for it. */
  writer?: boolean
  /** Whether the writer compresses pages thoroughly that are hit again. */
  compression?: boolean
  /** Knows the keys of all pages, so that looking up other keys needs no query. Default: some with a writer, otherwise none. */
  known?: KnownKeys | null
}
