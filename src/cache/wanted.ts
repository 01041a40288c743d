import type { Wanted } from '../cluster/shared/shared-pages.ts'
import { classifyUrl } from './classify-url.ts'
import type { ClassifyOptions, Lookup } from './lookup.ts'
import { secondaryKey } from './vary.ts'

/** What a lookup wants of the pages that all nodes share. */
export function wantedBy(lookup: Lookup): Wanted {
  return { key: lookup.sharedKey, url: lookup.url, vary: (names) => secondaryKey(names, lookup) }
}

/** What a visitor of a URL wants who sends no cookies; null where it is never cached. */
export function toWanted(url: string, signal: AbortSignal, options: ClassifyOptions): Wanted | null {
  const classified = classifyUrl(url, {}, signal, options)
  return classified?.kind === 'lookup' ? wantedBy(classified.lookup) : null
}
