import { parseHttpDate } from '../lib/http-date.ts'
import { askFor } from './ask.ts'
import { discard } from './body.ts'
import type { Fetched } from './fetch.ts'
import { fieldValue } from './fields.ts'
import { usability } from './freshness.ts'
import { OriginError } from './origin.ts'
import type { Proxy } from './proxy.ts'

/** What became of one request for one page. Times in milliseconds. */
export type WarmResult =
  /** Found fresh in the cache: nothing was fetched. */
  | { kind: 'fresh' }
  | { kind: 'stored'; status: number; ms: number }
  /** The shop answered with something that the cache may not or could not keep; `reason` says why, in words. */
  | { kind: 'not-stored'; status: number; ms: number; reason: string }
  /** No usable answer; `status` is null where none came, `retryAfter` (milliseconds from now) where the shop named a time. */
  | { kind: 'failed'; status: number | null; error: string; retryAfter: number | null; ms: number }

export interface FetchPageOptions {
  /** Request fields of the variant, with its cookies in `cookie`; none for an anonymous visitor. */
  headers: Readonly<Record<string, string>>
  /** Fetch it even when the cache holds it fresh. */
  force: boolean
  signal: AbortSignal
}

/** Brings one page into the cache by the way that a visitor's miss takes. `url` is absolute. */
export type FetchPage = (url: string, options: FetchPageOptions) => Promise<WarmResult>

/** Our own name in the shop's access log, and what keeps warmups out of its visitor statistics. */
const userAgent = 'pagecache-warmup'

/** `now`: milliseconds since the epoch. */
export function pageFetcher(proxy: Proxy, now: () => number): FetchPage {
  return async (url, { headers, force, signal }) => {
    const classified = askFor(url, { 'user-agent': userAgent, ...headers }, signal, proxy.classifying)
    if (classified === null) return { kind: 'failed', status: null, error: 'the URL belongs to no sales channel', retryAfter: null, ms: 0 }
    if (classified.kind === 'pass') return { kind: 'not-stored', status: 0, ms: 0, reason: `bypass: ${classified.reason}` }
    const { question } = classified
    const held = force ? null : await proxy.find(question)
    if (held !== null && usability(held.page, now()) === 'fresh') return { kind: 'fresh' }
    const started = performance.now()
    try {
      const fetched = await proxy.warm(question, signal)
      return toResult(fetched, performance.now() - started, now())
    } catch (error) {
      if (!(error instanceof OriginError)) throw error
      return { kind: 'failed', status: null, error: error.message, retryAfter: null, ms: performance.now() - started }
    }
  }
}

function toResult(fetched: Fetched | null, ms: number, now: number): WarmResult {
  if (fetched === null) return { kind: 'fresh' }
  if (fetched.kind === 'stream') discard(fetched.body)
  const { status } = fetched
  if (fetched.obstacle === null) return { kind: 'stored', status: status === 304 && fetched.kind === 'held' ? fetched.held.page.status : status, ms }
  if (status !== 429 && status < 500) return { kind: 'not-stored', status, ms, reason: fetched.obstacle }
  const headers = fetched.kind === 'stream' ? fetched.headers : fetched.live
  return { kind: 'failed', status, error: `the shop answered ${status}`, retryAfter: toDelay(fieldValue(headers, 'retry-after'), now), ms }
}

/** Retry-After as seconds or as a date (RFC 9110 §10.2.3), in milliseconds from now. */
function toDelay(value: string | null, now: number): number | null {
  if (value === null) return null
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const date = parseHttpDate(value, now)
  return date === null ? null : Math.max(0, date - now)
}
