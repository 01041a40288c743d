import type { Page } from './page.ts'

/** A page as operators see it in lists and inspections. Durations in whole seconds, sizes in bytes. */
export function toPageView(page: Page, now: number) {
  const age = Math.max(0, page.initialAge + (now - page.cachedAt) / 1000)
  return {
    key: page.key,
    url: page.url,
    type: page.type,
    tags: [...page.tags],
    status: page.status,
    vary: { ...page.vary },
    age: Math.floor(age),
    freshnessLeft: Math.floor((page.staleAt - now) / 1000),
    state: page.staleAt > now ? ('fresh' as const) : ('stale' as const),
    hits: page.hits,
    size: page.size,
    originalSize: page.originalSize,
    encoding: page.encoding,
    storedAt: new Date(page.cachedAt).toISOString(),
  }
}
