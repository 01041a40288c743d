import type { PageStore } from '../../pages/page-store.ts'
import { deepest } from './place.ts'

/** The URLs of all fragments of the stored pages of a URL, at any depth. */
export function fragmentUrls(store: Pick<PageStore, 'findByUrl'>, url: string): string[] {
  const found = new Set<string>()
  let level = [url]
  for (let depth = 0; depth < deepest && level.length > 0; depth++) {
    const next = new Set(level.flatMap((each) => store.findByUrl(each)).flatMap((page) => page.fragments ?? []))
    level = [...next].filter((each) => each !== url && !found.has(each))
    for (const each of level) found.add(each)
  }
  return [...found]
}
