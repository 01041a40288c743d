import type { Page, PageDraft } from './page.ts'
import { finiteTimes, toRecord } from './page-row.ts'
import type { NewPage, PageHead, PreparedPage, Stored } from './page-store.ts'

export function toHead(draft: PageDraft): PageHead {
  const { key, url, type, tags, cachedAt, deleteAt, originalSize, generationMs } = draft
  return { key, url, type, tags, cachedAt, deleteAt, originalSize, generationMs }
}

export function prepare({ draft, body, fence, file }: NewPage): PreparedPage {
  return { head: toHead(draft), record: toRecord(draft), body, fence, file }
}

/** A page as it was stored. */
export function toStoredPage(draft: PageDraft, stored: Stored): Page {
  return { ...draft, ...finiteTimes(draft), ...stored }
}
