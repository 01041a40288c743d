import { PagecacheError } from '../errors.ts'
import { maskUrls } from '../lib/safe-text.ts'
import { toCanonicalUrl, type UrlRules } from '../cache/purge-urls.ts'
import { toPageAddress } from './page-address.ts'

/**
 * Returns the canonical form of a URL passed in `field`.
 *
 * @param isStored whether the cache holds a page under a canonical URL; such a URL is accepted even if no channel is configured for
 *   it, because a daemon with another configuration or with --origin may have stored it
 * @throws INVALID_INPUT for a path that several sales channels may have, and for a URL that belongs to no sales channel; without any channel, all URLs are accepted
 */
export function toOwnUrl(
  url: string,
  field: string,
  naming: UrlRules,
  isStored: (url: string) => boolean = () => false,
): string {
  const channels = naming.channels.all.map((channel) => channel.url)
  const canonical = toCanonicalUrl(toPageAddress(url, naming.channels.all, { field }), naming)
  if (canonical !== null && (canonical.known || channels.length === 0 || isStored(canonical.url))) return canonical.url
  throw new PagecacheError('INVALID_INPUT', `${field}: ${maskUrls(url)} belongs to no sales channel`, {
    hint: `Sales channels: ${channels.join(', ')}.`,
  })
}
