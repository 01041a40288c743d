import { pageTypes, type PageDraft } from '../../src/pages/page.ts'

/** The page number `n` of a store that a benchmark fills, with the headers of a Shopware page. */
export function pageDraft(n: number, own: Pick<PageDraft, 'key' | 'url' | 'tags' | 'originalSize'>): PageDraft {
  const now = Date.now()
  return {
    ...own,
    channelId: 'c1',
    type: pageTypes[n % pageTypes.length]!,
    status: 200,
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
    generationMs: 80,
  }
}
