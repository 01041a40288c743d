import type { PageDraft } from '../../src/pages/page.ts'
import type { PageIndex } from '../../src/pages/page-index.ts'
import type { StoredBody } from '../../src/pages/page-reads.ts'
import { toRecord } from '../../src/pages/page-row.ts'

/** Inserts the rows of a page inside the caller's transaction. */
export function insertPage(index: PageIndex, draft: PageDraft, body: StoredBody): void {
  const insert = index.inserts.for([draft], { maxVariants: 64, now: draft.cachedAt })
  const { id } = insert({ head: draft, record: Buffer.from(toRecord(draft)) }, body)
  index.writes.link([{ id, tags: draft.tags }])
}
