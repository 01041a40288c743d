import type { PageStore } from '../../pages/page-store.ts'
import { deepest, mostIncludes } from './place.ts'

/** The most that are listed: variants of a page may have different ones, and each of them too. */
const mostListed = 8 * mostIncludes

/** The URLs of the fragments of the stored pages of a URL, at any depth. */
export function fragmentUrls(store: Pick<PageStore, 'findByUrl'>, url: string): string[] {
  const found = new Set<string>()
  let level = [url]
  for (let depth = 0; depth < deepest && level.length > 0 && found.size < mostListed; depth++) {
    const next = new Set(level.flatMap((each) => store.findByUrl(each)).flatMap((page) => page.fragments ?? []))
    level = [...next].filter((each) => each !== url && !found.has(each))
    for (const each of level.slice(0, mostListed - found.size)) found.add(each)
  }
  return [...found]
}
