import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, buildConnector, request } from 'undici'
import { resetIsNoEnd } from '../../lib/reset-is-no-end.ts'
import type { Channel } from '../../cache/channel.ts'
import { parseRetryAfter } from '../run/retry-after.ts'
import { SitemapError } from './sitemap-error.ts'

export interface SitemapFetchOptions {
  /** Milliseconds for connecting, for the headers, and between two chunks of a body. A whole file may take ten times that. */
  timeout: number
  redirects: number
  /** Opens sockets; undici's connector by default. */
  connect?: buildConnector.connector
  /** Milliseconds before the first retry; doubled for each further one. */
  retryDelay?: number
}

interface SitemapResponse {
  status: number
  body: AsyncIterable<Buffer>
}

export interface SitemapFetch {
  /**
   * Fetches a file of a channel's public URL from the channel's origin, with the public Host. Redirects are followed only within
   * the public URL's origin. The body is read only for a 200.
   *
   * @throws SitemapError
   */
  get(channel: Channel, url: URL, signal: AbortSignal): Promise<SitemapResponse>
  close(): Promise<void>
}

const attempts = 3
/** Cap for `Retry-After` (milliseconds): an operator is waiting for discovery. */
const maxWait = 10_000
/** A whole file may take this many times `timeout`. */
const totalFactor = 10

export function openSitemapFetch(options: SitemapFetchOptions): SitemapFetch {
  const { timeout, redirects, retryDelay = 500 } = options
  const agent = new Agent({
    connections: 4,
    headersTimeout: timeout,
    bodyTimeout: timeout,
    maxHeaderSize: 64 * 1024,
    allowH2: false,
    connect: resetIsNoEnd(options.connect ?? buildConnector({ timeout, allowH2: false })),
  })

  async function fetchOnce(channel: Channel, url: URL, signal: AbortSignal) {
    const { statusCode, headers, body } = await request(`${channel.origin}${url.pathname}${url.search}`, {
      dispatcher: agent,
      headers: requestHeaders(channel),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout * totalFactor)]),
    })
    // An unread body is destroyed with its socket. Errors of a body that is read surface when it is iterated.
    body.on('error', () => {})
    if (statusCode !== 200) body.destroy()
    return { status: statusCode, headers, body }
  }

  async function fetchWithRetries(channel: Channel, url: URL, signal: AbortSignal) {
    for (let attempt = 1; ; attempt++) {
      const response = await fetchOnce(channel, url, signal).catch((error: unknown) => {
        if (signal.aborted || attempt === attempts) throw toSitemapError(error, signal)
        return null
      })
      if (response && (!isTransient(response.status) || attempt === attempts)) return response
      const retryAfter = response && parseRetryAfter(headerOf(response.headers, 'retry-after'), Date.now())
      await sleep(Math.min(maxWait, retryAfter ?? retryDelay * 2 ** (attempt - 1)), undefined, { signal })
    }
  }

  async function get(channel: Channel, url: URL, signal: AbortSignal): Promise<SitemapResponse> {
    const seen = new Set<string>()
    for (let current = url; ;) {
      if (seen.has(current.href)) throw new SitemapError('redirects in a loop')
      if (seen.size > redirects) throw new SitemapError(`redirects more than ${redirects} times`)
      seen.add(current.href)
      const response = await fetchWithRetries(channel, current, signal)
      if (!isRedirect(response.status)) return { status: response.status, body: response.body }
      current = redirectTarget(headerOf(response.headers, 'location'), current, channel)
    }
  }

  return { get, close: () => agent.destroy() }
}

function redirectTarget(location: string | undefined, from: URL, channel: Channel): URL {
  const target = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : null
  if (!target) throw new SitemapError('redirects without a valid Location')
  if (!isOnOrigin(target, channel)) throw new SitemapError('redirects to another origin, which is not followed')
  target.hash = ''
  return target
}

/** Whether a URL is on the scheme, host and port of a channel's public URL. */
export function isOnOrigin(url: URL, channel: Channel): boolean {
  return (
    url.protocol === `${channel.scheme}:` && url.host === channel.host && url.username === '' && url.password === ''
  )
}

function requestHeaders(channel: Channel): Record<string, string> {
  const port = /:(\d+)$/.exec(channel.host)?.[1] ?? (channel.scheme === 'https' ? '443' : '80')
  return {
    host: channel.host,
    ...(channel.authorization !== null && { authorization: channel.authorization }),
    'x-forwarded-host': channel.host,
    'x-forwarded-proto': channel.scheme,
    'x-forwarded-port': port,
    'user-agent': 'pagecache-warmup',
    accept: 'application/xml, text/xml, text/plain, */*',
    // Sitemaps that are gzip files are recognised by their first bytes; no further coding is requested.
    'accept-encoding': 'identity',
  }
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status)
}

function isTransient(status: number): boolean {
  return [429, 502, 503, 504].includes(status)
}

function headerOf(headers: Record<string, string | string[] | undefined>, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

function toSitemapError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || error instanceof SitemapError) return error
  const message =
    error instanceof Error ? error.message || ('code' in error ? String(error.code) : error.name) : String(error)
  return new SitemapError(`could not be fetched: ${message.slice(0, 200)}`, { cause: error })
}
