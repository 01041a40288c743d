import { PagecacheError } from '../errors.ts'
import { maskUrls } from '../lib/mask.ts'

/** A host with a dot or a port, and perhaps a path: what somebody types who leaves out the scheme. */
const withoutScheme = /^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?|[a-z0-9-]+:\d+)(?:[/?]|$)/i

/** What the daemon takes from visitors, in characters, with a long host before it. */
const longest = 8192 + 300

// oxlint-disable-next-line no-control-regex
const unfit = /[\u0000-\u001f\u007f]/

/**
 * Throws INVALID_INPUT (status 400, exit 2) for what is no absolute http or https URL, with a guess at what was meant.
 * `channels`: the URLs of the sales channels. `field`: the field of the input that holds it.
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
  throw new PagecacheError('INVALID_INPUT', `${field}: ${maskUrls(url)} is no URL with scheme and host`, {
    hint:
      guess === null
        ? `Give it as visitors type it, for example ${channels[0] ?? 'http://shop.example'}/.`
        : `Did you mean ${guess}?`,
  })
}

function guessUrl(text: string, channels: readonly string[]): string | null {
  const [first] = channels
  const host = text.split(/[/?]/, 1)[0]
  const channel = channels.map((url) => new URL(url)).find((url) => url.host === host || url.hostname === host)
  const scheme = channel?.protocol ?? 'http:'
  const isHost = channel !== undefined || withoutScheme.test(text)
  const guess = /^\/(?!\/)/.test(text) && first !== undefined ? first + text : isHost ? `${scheme}//${text}` : null
  return guess !== null && isAbsolute(guess) ? guess : null
}

function isAbsolute(url: string): boolean {
  return /^https?:\/\//i.test(url) && URL.canParse(url)
}
