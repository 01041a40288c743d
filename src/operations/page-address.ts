import { PagecacheError, unknownChannel } from '../errors.ts'
import { maskUrls } from '../lib/safe-text.ts'
import { assertAbsoluteUrl } from './absolute-url.ts'

/** The part of a sales channel that names its pages. */
interface NamedChannel {
  id: string
  name: string
  url: string
}

/** A path alone, not a URL without its scheme (`//host/path`). */
const path = /^\/(?![/\\])/

/**
 * The absolute URL of a page that was named by its URL or by a path alone. A path belongs to the channels whose own path it begins with;
 * otherwise it is relative to each channel's URL.
 *
 * @param field the input field that names the page
 * @throws INVALID_INPUT for anything else, and for a path that several pages have; NOT_FOUND for an unknown sales channel
 */
export function toPageAddress(
  given: string,
  channels: readonly NamedChannel[],
  { field = 'url', channelId = '' }: { field?: string; channelId?: string | undefined } = {},
): string {
  const chosen = channelId === '' ? channels : channels.filter(({ id }) => id === channelId)
  if (channelId !== '' && chosen.length === 0) throw unknownChannel(channelId, channels)
  const urls = path.test(given) ? addressesOf(given, chosen) : []
  if (path.test(given) && urls.length === 0)
    throw new PagecacheError(
      'INVALID_INPUT',
      `${field}: ${maskUrls(given)} is a path, but no sales channel is configured`,
      {
        hint: 'Give the whole URL, or add a sales channel: pagecache init.',
      },
    )
  const known = channels.map(({ url }) => url)
  const [url = given, ...others] = urls
  assertAbsoluteUrl(url, known, field)
  if (others.length === 0) return url
  throw new PagecacheError('INVALID_INPUT', `${field}: several sales channels may have the path ${given}`, {
    hint: `Name the page: ${urls.join(', ')}.`,
  })
}

function addressesOf(given: string, channels: readonly NamedChannel[]): string[] {
  const parsed = channels
    .map(({ url }) => new URL(url))
    .map(({ origin, pathname }) => ({ origin, prefix: pathname.replace(/\/$/, '') }))
  const owners = parsed.filter(
    ({ prefix }) => given.startsWith(prefix) && /^(?:[/?]|$)/.test(given.slice(prefix.length)),
  )
  const urls =
    owners.length > 0
      ? owners.map(({ origin }) => origin + given)
      : parsed.map(({ origin, prefix }) => origin + prefix + given)
  return [...new Set(urls)]
}
