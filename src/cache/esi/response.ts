import type { HeaderPair } from '../../pages/page.ts'
import { fieldValue } from '../fields.ts'
import { cacheName } from '../forward.ts'

/** Tells the shop that pages may have ESI markup (https://www.w3.org/TR/edge-arch/). */
export const capability: HeaderPair = ['surrogate-capability', `${cacheName}="ESI/1.0"`]

/** Whether the shop asks for the ESI markup of a response to be processed. */
export function hasMarkup(headers: readonly HeaderPair[]): boolean {
  return /(?:^|[,;\s])content="(?:[^"]*\s)?ESI\/1\.0(?:\s[^"]*)?"/i.test(fieldValue(headers, 'surrogate-control') ?? '')
}
