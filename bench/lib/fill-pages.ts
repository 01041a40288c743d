import { openPages } from '../../src/pages/clear.ts'
import { pageTypes, type PageDraft } from '../../src/pages/page.ts'
import { placesIn } from '../../src/pages/places.ts'

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
        index.writes.link([index.writes.insert(page, body, 64, page.cachedAt)])
      }
    })
  }
  index.close()
}

function draft(n: number, tags: readonly string[]): PageDraft {
  const url = `http://shop.example/detail/${n.toString(16).padStart(32, '0')}`
  const now = Date.now()
  return {
    key: `c1 ${url}`,
    url,
    channelId: 'c1',
    type: pageTypes[n % 5]!,
    status: 200,
    tags,
    headers: [
      ['content-type', 'text/html; charset=UTF-8'],
      ['etag', `"${n}"`],
      ['cache-control', 'public, s-maxage=7200'],
    ],
    vary: {},
    states: ['logged-in', 'cart-filled'],
    cachedAt: now,
    initialAge: 0,
    lifetime: 7_200,
    staleWhileRevalidate: 0,
    staleIfError: 0,
    staleAllowed: true,
    noCache: false,
    range: null,
    encoding: 'identity',
    staleAt: now + 7_200_000,
    deleteAt: now + 86_400_000,
    originalSize: 5_000,
    generationMs: 80,
  }
}
