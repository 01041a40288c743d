import type { App } from '../app.ts'
import type { PageStore } from '../pages/page-store.ts'

/** The page store, where it can be read. @throws PagecacheError STORE_BUSY, STORE_UNREADABLE, STORE_FULL where it cannot */
export async function openPages(app: App): Promise<PageStore> {
  const pages = await app.pages()
  const fault = pages.fault()
  if (fault !== null) throw fault
  return pages
}

/**
 * What the page store answers to an operator. A visitor passes by a store that cannot be read; an operator must not take its
 * silence for an empty cache. @throws PagecacheError STORE_BUSY, STORE_FULL
 */
export async function readPages<T>(app: App, ask: (pages: PageStore) => T | Promise<T>): Promise<T> {
  const answer = await ask(await openPages(app))
  // It may have become unreadable under the question.
  await openPages(app)
  return answer
}
