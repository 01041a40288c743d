import type { PageDraft } from '../../src/pages/page.ts'

export const origin = 'http://shop.example'
export const aMoment = Date.UTC(2026, 0, 1)
const hour = 3_600_000

/** A page at `/<name>`, fresh for an hour. */
export function draft(name: string, changes: Partial<PageDraft> = {}): PageDraft {
  return {
    key: `GET ${origin}/${name}`,
    url: `${origin}/${name}`,
    channelId: 'c1',
    type: 'products',
    tags: [`product-${name}`, 'all-products'],
    status: 200,
    headers: [['content-type', 'text/html; charset=utf-8']],
    vary: {},
    states: [],
    cachedAt: aMoment,
    initialAge: 0,
    lifetime: 3_600,
    staleWhileRevalidate: 0,
    staleIfError: 0,
    staleAllowed: true,
    noCache: false,
    staleAt: aMoment + hour,
    deleteAt: aMoment + 24 * hour,
    range: null,
    encoding: 'identity',
    originalSize: 1_000,
    generationMs: 12.5,
    ...changes,
  }
}

export function bodyOf(name: string): Buffer {
  return Buffer.from(`<h1>${name}</h1>`)
}
