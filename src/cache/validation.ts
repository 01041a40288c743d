import type { HeaderPair, Page } from '../pages/page.ts'
import { isStrong, matchesEntityTag } from './conditional.ts'
import { fieldValue, hasField } from './fields.ts'
import type { OriginResponse } from './origin.ts'

/** The conditional request fields that validate a page (RFC 9111 §4.3.1). */
export function validatorsOf(page: Page): HeaderPair[] {
  const etag = fieldValue(page.headers, 'etag')
  const modified = fieldValue(page.headers, 'last-modified')
  const validators: HeaderPair[] = []
  if (etag !== null) validators.push(['if-none-match', etag])
  if (modified !== null) validators.push(['if-modified-since', modified])
  return validators
}

export function hasValidator(page: Page): boolean {
  return page.range === null && (hasField(page.headers, 'etag') || hasField(page.headers, 'last-modified'))
}

function isSameTag(etag: string, own: string): boolean {
  return isStrong(own) && isStrong(etag) ? etag === own : matchesEntityTag(etag, own)
}

/** Whether a 304 is about the page that we hold (RFC 9111 §4.3.4): a validator in it must be the page's. */
export function confirms(page: Page, response: OriginResponse): boolean {
  const etag = fieldValue(response.headers, 'etag')
  const own = fieldValue(page.headers, 'etag')
  // A tag that was weakened, by us or by a proxy in front of the shop, may come back as it was.
  if (etag !== null && own !== null) return isSameTag(etag, own)
  if (etag !== null && isStrong(etag)) return false
  const modified = fieldValue(response.headers, 'last-modified')
  return modified === null || [null, modified].includes(fieldValue(page.headers, 'last-modified'))
}

/**
 * Whether a HEAD response describes the page that we hold (RFC 9111 §4.3.5). Without a validator it does not suffice.
 */
export function describes(page: Page, response: OriginResponse): boolean {
  const field = (name: string) => fieldValue(response.headers, name)
  const [etag, modified] = [field('etag'), field('last-modified')]
  const own = fieldValue(page.headers, 'etag')
  // That of a coding says nothing about the page's.
  const length = field('content-encoding') === null ? field('content-length') : null
  return (
    response.status === page.status &&
    (etag !== null || modified !== null) &&
    (etag === null || (own !== null && isSameTag(etag, own))) &&
    (modified === null || modified === fieldValue(page.headers, 'last-modified')) &&
    (length === null || Number(length) === page.originalSize)
  )
}
