import { PagecacheError } from '../errors.ts'
import { maskUrls } from '../lib/safe-text.ts'

/** A URL without its scheme: a host with a dot or a port, and an optional path. */
const withoutScheme = /^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?|[a-z0-9-]+:\d+)(?:[/?]|$)/i

/** A path that lacks its slash, such as `shoes` or `?p=2`. */
const withoutSlash = /^[\w?][^\s:\\]*$/

/** Longest URL that the daemon accepts from visitors, in characters, including a long host. */
const longest = 8192 + 300

// oxlint-disable-next-line no-control-regex
const unfit = /[\u0000-\u001f\u007f]/

/**
 * Asserts that `url` is an absolute http or https URL.
 *
 * @param channels URLs of the sales channels, to guess what was meant
 * @param field the input field that holds the URL
 * @throws INVALID_INPUT
 */
export function assertAbsoluteUrl(url: string, channels: readonly string[], field = 'url'): void {
  if (url.length > longest)
    throw new PagecacheError(
      'INVALID_INPUT',
      `${field}: a URL of ${url.length} characters, at most ${longest} are taken`,
    )
  // A URL parser drops line breaks and tabs: another URL than the one that was written would be meant.
  if (unfit.test(url)) throw new PagecacheError('INVALID_INPUT', `${field}: the URL has control characters`)
  if (isAbsolute(url)) return
  const guess = guessUrl(url, channels)
  throw new PagecacheError('INVALID_INPUT', `${field}: ${maskUrls(url)} is not an absolute URL`, {
    hint:
      guess === null
        ? `Include scheme and host, for example ${channels[0] ?? 'http://shop.example'}/.`
        : `Did you mean ${guess}?`,
  })
}

function guessUrl(text: string, channels: readonly string[]): string | null {
  const [first] = channels
  const host = text.split(/[/?]/, 1)[0]
  const channel = channels.map((url) => new URL(url)).find((url) => url.host === host || url.hostname === host)
  const scheme = channel?.protocol ?? 'http:'
  const isHost = channel !== undefined || withoutScheme.test(text)
  if (!isHost && first !== undefined && withoutSlash.test(text)) return `the path /${text}`
  const guess = /^\/(?!\/)/.test(text) && first !== undefined ? first + text : isHost ? `${scheme}//${text}` : null
  return guess !== null && isAbsolute(guess) ? guess : null
}

function isAbsolute(url: string): boolean {
  return /^https?:\/\//i.test(url) && URL.canParse(url)
}
