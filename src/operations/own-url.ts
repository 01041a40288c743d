import { PagecacheError } from '../errors.ts'
import { maskUrls } from '../lib/mask.ts'
import { toCanonicalUrl, type UrlRules } from '../cache/purge-urls.ts'
import { assertAbsoluteUrl } from './absolute-url.ts'

/**
 * The canonical form of a URL that a client named in `field`. `isStored`: whether the cache holds a page under a canonical URL; a daemon with
 * another configuration, or with --origin, may have stored it.
 *
 * @throws INVALID_INPUT for what is no absolute URL, or belongs to no sales channel; without any channel all URLs are taken
 */
export function toOwnUrl(
  url: string,
  field: string,
  naming: UrlRules,
  isStored: (url: string) => boolean = () => false,
): string {
  const channels = naming.channels.all.map((channel) => channel.url)
  assertAbsoluteUrl(url, channels, field)
  const named = toCanonicalUrl(url, naming)
  if (named !== null && (named.known || channels.length === 0 || isStored(named.url))) return named.url
  throw new PagecacheError('INVALID_INPUT', `${field}: ${maskUrls(url)} belongs to no sales channel`, {
    hint: `Sales channels: ${channels.join(', ')}.`,
  })
}
