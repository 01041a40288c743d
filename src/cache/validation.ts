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

/** Whether a 304 is about the page that we hold (RFC 9111 §4.3.4): a validator in it must be the page's. */
export function confirms(page: Page, response: OriginResponse): boolean {
  const etag = fieldValue(response.headers, 'etag')
  const own = fieldValue(page.headers, 'etag')
  // A tag that was weakened, by us or by a proxy in front of the shop, may come back as it was.
  if (etag !== null && own !== null) return isStrong(own) && isStrong(etag) ? etag === own : matchesEntityTag(etag, own)
  if (etag !== null && isStrong(etag)) return false
  const modified = fieldValue(response.headers, 'last-modified')
  return modified === null || [null, modified].includes(fieldValue(page.headers, 'last-modified'))
}

/**
 * Whether a HEAD response describes the page that we hold (RFC 9111 §4.3.5). Without a validator it does not suffice.
 */
export function describes(page: Page, response: OriginResponse): boolean {
  const same = (name: string) =>
    !hasField(response.headers, name) || fieldValue(response.headers, name) === fieldValue(page.headers, name)
  const length = fieldValue(response.headers, 'content-length')
  const validated = hasField(response.headers, 'etag') || hasField(response.headers, 'last-modified')
  return (
    response.status === page.status &&
    validated &&
    same('etag') &&
    same('last-modified') &&
    (length === null || Number(length) === page.originalSize)
  )
}
