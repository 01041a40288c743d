import type { App } from '../app.ts'
import type { PageStore } from '../pages/page-store.ts'

/** Opens the page store, with the pages in it that visitors have already got. @throws STORE_BUSY, STORE_UNREADABLE, STORE_FULL if it is unusable */
export async function openPages(app: App): Promise<PageStore> {
  const pages = await app.pages()
  const fault = pages.fault()
  if (fault !== null) throw fault
  await pages.settled({ kind: 'all' })
  return pages
}

/**
 * Reads from the page store for an operator. Visitors bypass an unreadable store, but an operator must not mistake it for an empty
 * cache. @throws STORE_BUSY, STORE_UNREADABLE, STORE_FULL
 */
export async function readPages<T>(app: App, read: (pages: PageStore) => T | Promise<T>): Promise<T> {
  const value = await read(await openPages(app))
  // The store may have become unreadable meanwhile.
  await openPages(app)
  return value
}
