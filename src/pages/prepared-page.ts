import type { Page, PageDraft } from './page.ts'
import { finiteTimes, toRecord } from './page-row.ts'
import type { Fence, NewPage, PageHead, PreparedPage, Stored } from './page-store.ts'

function toHead(draft: PageDraft): PageHead {
  const { key, url, type, tags, cachedAt, deleteAt, originalSize, generationMs } = draft
  return { key, url, type, tags, cachedAt, deleteAt, originalSize, generationMs }
}

export function prepare({ draft, body, fence, file }: NewPage): PreparedPage {
  return { head: toHead(draft), record: Buffer.from(toRecord(draft)), body, fence, file }
}

type Described = Pick<PreparedPage, 'head' | 'fence' | 'record'>

/** A page besides its body, for the writer thread: a line with what it parses, then the record. JSON has no line breaks. */
export function toText(draft: PageDraft, fence: Fence): string {
  const parsed: Omit<Described, 'record'> = { head: toHead(draft), fence }
  return `${JSON.stringify(parsed)}\n${toRecord(draft)}`
}

export function fromText(text: Buffer): Described {
  const end = text.indexOf('\n')
  const parsed = JSON.parse(text.toString('utf8', 0, end)) as Omit<Described, 'record'>
  return { ...parsed, record: text.subarray(end + 1) }
}

/** A page as it was stored. */
export function toStoredPage(draft: PageDraft, stored: Stored): Page {
  return { ...draft, ...finiteTimes(draft), ...stored }
}
