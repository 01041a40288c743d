import { watch } from 'node:fs'

/**
 * Calls the listener when any process has written to the write-ahead log of a database. The commit itself may be visible only later: the
 * log is synced between the two. Returns a function that ends it; null if the system can watch no more files.
 */
export function watchLog(file: string, listener: () => void): (() => void) | null {
  try {
    const watcher = watch(`${file}-wal`, { persistent: false }, listener)
    // The listener looks for itself and watches again.
    watcher.on('error', listener)
    return () => watcher.close()
  } catch {
    return null
  }
}
