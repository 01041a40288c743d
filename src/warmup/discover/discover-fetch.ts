import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, buildConnector, request } from 'undici'
import { resetIsNoEnd } from '../../lib/reset-is-no-end.ts'
import type { Channel } from '../../cache/channel.ts'
import { parseRetryAfter } from '../run/retry-after.ts'
import { SitemapError } from './sitemap-error.ts'

export interface SitemapFetchOptions {
  /** Milliseconds for connecting, for the headers, and between two pieces of a body. A whole file may take ten times that. */
  timeout: number
  redirects: number
  /** How sockets are opened; the usual way where it is not given. */
  connect?: buildConnector.connector
  /** Between attempts, in milliseconds. */
  retryDelay?: number
}

interface SitemapResponse {
  status: number
  body: AsyncIterable<Buffer>
}

export interface SitemapFetch {
  /**
   * Fetches a file of a channel's public origin from where the shop answers, with the public Host. Redirects
   * are followed on that origin alone; the body of anything but a 200 is not read.
   *
   * @throws SitemapError
   */
  get(channel: Channel, url: URL, signal: AbortSignal): Promise<SitemapResponse>
  close(): Promise<void>
}

const attempts = 3
/** Discovery has somebody waiting: a shop that wants longer than this gets asked again all the same (milliseconds). */
const longestWait = 10_000
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

  async function once(channel: Channel, url: URL, signal: AbortSignal) {
    const { statusCode, headers, body } = await request(`${channel.origin}${url.pathname}${url.search}`, {
      dispatcher: agent,
      headers: requestHeaders(channel),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout * totalFactor)]),
    })
    // What is thrown away is not waited for: the socket goes with it. Errors come out of the reading.
    body.on('error', () => {})
    if (statusCode !== 200) body.destroy()
    return { status: statusCode, headers, body }
  }

  async function patiently(channel: Channel, url: URL, signal: AbortSignal) {
    for (let attempt = 1; ; attempt++) {
      const response = await once(channel, url, signal).catch((error: unknown) => {
        if (signal.aborted || attempt === attempts) throw toSitemapError(error, signal)
        return null
      })
      if (response && (!isPassing(response.status) || attempt === attempts)) return response
      const asked = response && parseRetryAfter(headerOf(response.headers, 'retry-after'), Date.now())
      await sleep(Math.min(longestWait, asked ?? retryDelay * 2 ** (attempt - 1)), undefined, { signal })
    }
  }

  async function get(channel: Channel, url: URL, signal: AbortSignal): Promise<SitemapResponse> {
    const seen = new Set<string>()
    for (let current = url; ;) {
      if (seen.has(current.href)) throw new SitemapError('redirects in a circle')
      if (seen.size > redirects) throw new SitemapError(`redirects more than ${redirects} times`)
      seen.add(current.href)
      const response = await patiently(channel, current, signal)
      if (!isRedirect(response.status)) return { status: response.status, body: response.body }
      current = redirectTarget(headerOf(response.headers, 'location'), current, channel)
    }
  }

  return { get, close: () => agent.destroy() }
}

function redirectTarget(location: string | undefined, from: URL, channel: Channel): URL {
  const target = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : null
  if (!target) throw new SitemapError('redirects to nowhere')
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
    // What comes compressed is known by its first bytes; nothing more is asked for.
    'accept-encoding': 'identity',
  }
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status)
}

function isPassing(status: number): boolean {
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
