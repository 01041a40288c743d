import { openPages } from '../../src/pages/clear.ts'
import type { PageDraft } from '../../src/pages/page.ts'
import { placesIn } from '../../src/pages/places.ts'
import { insertPage } from '../../test/helpers/insert-page.ts'
import { pageDraft } from './page-draft.ts'

/** The number of pages per tag (`tag-0`, `tag-1` and so on). */
export const pagesOfTag = 10

/** Inserts rows of pages without bodies: a purge reads no body, and the later clean-up tolerates missing ones. */
export function fillPages(directory: string, tags: number, large = 0): void {
  const index = openPages(placesIn(directory), console.warn)
  const digest = Buffer.alloc(32)
  const small = tags * pagesOfTag
  for (let first = 0; first < small + large; first += 5_000) {
    index.write(() => {
      for (let n = first; n < Math.min(small + large, first + 5_000); n += 1) {
        const page = draft(n, n < small ? [`tag-${Math.floor(n / pagesOfTag)}`, 'small'] : [`page-${n}`, 'large'])
        const body = { file: `00/${n.toString(16).padStart(32, '0')}.0`, fileSize: 5_000, at: 0, size: 5_000, digest }
        insertPage(index, page, body)
      }
    })
  }
  index.close()
}

function draft(n: number, tags: readonly string[]): PageDraft {
  const url = `http://shop.example/detail/${n.toString(16).padStart(32, '0')}`
  return pageDraft(n, { key: `c1 ${url}`, url, tags, originalSize: 5_000 })
}
