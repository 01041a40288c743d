import type { App } from '../app.ts'
import type { PageStore } from '../pages/page-store.ts'

/** Reads from the page store for an operator. @throws STORE_BUSY, STORE_UNREADABLE, STORE_FULL if it is unusable */
export async function readPages<T>(app: App, read: (pages: PageStore) => T | Promise<T>): Promise<T> {
  const value = await read(await app.usablePages())
  // The store may have become unreadable meanwhile.
  await app.usablePages()
  return value
}
