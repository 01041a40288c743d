import type { WarmResult } from './warm-result.ts'

/** What became of a request, in a few words that can be counted. */
export interface ResultClass {
  kind: 'fetched' | 'fresh' | 'not-stored' | 'failed'
  /** `set-cookie`, `private`, `no-store` …; a status; `timeout`, `refused` …; empty where the page was stored. */
  reason: string
}

/** The reasons of the proxy (src/cache/may-store.ts, fetch.ts, bypass.ts), in one word each; the words themselves stand with the failure. */
const obstacles: readonly (readonly [RegExp, string])[] = [
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

const troubles: readonly (readonly [RegExp, string])[] = [
  [/no whole answer|time-?out|timed out|ETIMEDOUT/i, 'timeout'],
  [/ECONNREFUSED|refused/i, 'refused'],
  [/ECONNRESET|EPIPE|other side closed|terminated|socket/i, 'reset'],
  [/ENOTFOUND|EAI_AGAIN|getaddrinfo/i, 'dns'],
  [/certificate|TLS|SSL/i, 'tls'],
]

export function classOf(result: WarmResult): ResultClass {
  if (result.kind === 'fresh') return { kind: 'fresh', reason: '' }
  if (result.kind === 'stored')
    return result.status < 400 ? { kind: 'fetched', reason: '' } : { kind: 'failed', reason: String(result.status) }
  if (result.kind === 'not-stored') return { kind: 'not-stored', reason: wordFor(obstacles, result.reason) }
  return { kind: 'failed', reason: result.status === null ? wordFor(troubles, result.error) : String(result.status) }
}

function wordFor(words: readonly (readonly [RegExp, string])[], text: string): string {
  return words.find(([pattern]) => pattern.test(text))?.[1] ?? 'other'
}
