import type { WarmResult } from './warm-result.ts'

/** The result of a request as a countable class. */
export interface ResultClass {
  kind: 'fetched' | 'fresh' | 'not-stored' | 'failed'
  /** `set-cookie`, `private`, `no-store` …; a status; `timeout`, `refused` …; empty if the page was stored or fresh. */
  reason: string
}

/** One word for each reason that the cache gives (src/cache/may-store.ts, fetch.ts, bypass.ts). Failures keep the full text. */
const notStoredReasons: readonly (readonly [RegExp, string])[] = [
  [/^Set-Cookie/i, 'set-cookie'],
  [/no-store/i, 'no-store'],
  [/private/i, 'private'],
  [/larger than|too many large/i, 'too-large'],
  [/^Vary/i, 'vary'],
  [/never cached|^cookie |bypass|client state|^method |precondition|is too long/i, 'bypass'],
  [/freshness/i, 'no-freshness'],
  [/reflects/i, 'reflection'],
  [/invalidat/i, 'invalidated'],
  [/no room|busy/i, 'store-full'],
  [/no sales channel/i, 'foreign'],
]

const failureReasons: readonly (readonly [RegExp, string])[] = [
  [/no complete response|time-?out|timed out|ETIMEDOUT/i, 'timeout'],
  [/ECONNREFUSED|refused/i, 'refused'],
  [/ECONNRESET|EPIPE|other side closed|terminated|socket/i, 'reset'],
  [/ENOTFOUND|EAI_AGAIN|getaddrinfo/i, 'dns'],
  [/certificate|TLS|SSL/i, 'tls'],
]

export function classOf(result: WarmResult): ResultClass {
  if (result.kind === 'fresh') return { kind: 'fresh', reason: '' }
  if (result.kind === 'stored')
    return result.status < 400 ? { kind: 'fetched', reason: '' } : { kind: 'failed', reason: String(result.status) }
  if (result.kind === 'not-stored') return { kind: 'not-stored', reason: reasonFor(notStoredReasons, result.reason) }
  return {
    kind: 'failed',
    reason: result.status === null ? reasonFor(failureReasons, result.error) : String(result.status),
  }
}

function reasonFor(words: readonly (readonly [RegExp, string])[], text: string): string {
  return words.find(([pattern]) => pattern.test(text))?.[1] ?? 'other'
}
