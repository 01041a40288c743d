import { onTestFinished } from 'vitest'
import type { Page, PageDraft } from '../../src/pages/page.ts'
import type { PageStore, Rejection } from '../../src/pages/page-store.ts'
import { openFilesystemStore } from '../../src/pages/filesystem-store.ts'
import type { FilesystemStoreOptions } from '../../src/pages/store-options.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { aMoment, bodyOf, draft } from '../pages/draft.ts'

export { aMoment, bodyOf, draft, origin } from '../pages/draft.ts'

/** Stores a page whose fetch begins now. Null when the store rejects it. */
export async function store(pages: PageStore, name: string, changes: Partial<PageDraft> = {}): Promise<Page | null> {
  const outcome = await pages.put(draft(name, changes), bodyOf(name), pages.fence())
  return typeof outcome === 'string' ? null : outcome
}

/** The page that a store has accepted. @throws Error when the store has rejected it */
export function accepted(outcome: Page | Rejection): Page {
  if (typeof outcome === 'string') throw new Error(`The store has rejected the page: ${outcome}`)
  return outcome
}

export interface Clock {
  now: () => number
  advance(milliseconds: number): void
}

export function clock(): Clock {
  let time = aMoment
  return {
    now: () => time,
    advance(milliseconds) {
      time += milliseconds
    },
  }
}

/** Opens a store that is closed at the end of the test, and collects its warnings. */
export async function openPages(
  changes: Partial<FilesystemStoreOptions> = {},
): Promise<{ pages: PageStore; directory: string; warnings: string[] }> {
  const directory = changes.directory ?? (await tempDir())
  const warnings: string[] = []
  const pages = await openFilesystemStore({
    directory,
    maxSize: null,
    now: () => aMoment,
    onWarning: (message) => warnings.push(message),
    ...changes,
  })
  onTestFinished(() => pages.close())
  return { pages, directory, warnings }
}
