import { formatCacheStatus } from './cache-status.ts'
import type { HeaderPair } from '../pages/page.ts'
import { OriginError, type OriginFailure } from './origin.ts'
import type { CacheAnswer } from './visit.ts'

/** Builds a refusal: plain text on the shop's paths, JSON on the daemon's own. */
export type Refuse = (status: number, text: string) => CacheAnswer

/** A short plain-text response of the daemon itself; never stored by any cache. */
export function plainAnswer(status: number, text: string): CacheAnswer {
  const body = Buffer.from(`${text}\n`)
  return {
    status,
    headers: [
      ['Content-Type', 'text/plain; charset=utf-8'],
      ['Cache-Control', 'no-store'],
      ['Content-Length', String(body.length)],
    ],
    body,
  }
}

/** The message of a 421. */
export function noChannel({ scheme, host }: { scheme: string; host: string }): string {
  return `No sales channel is configured for ${scheme}://${host}.`
}

/** Details in Cache-Status. */
export const originFailureText = {
  timeout: 'origin timeout',
  unreachable: 'origin unreachable',
  broken: 'invalid origin response',
  overloaded: 'origin overloaded',
} as const

/** Tells a visitor that the shop is busy to come back in a few seconds. */
export const retrySoon: readonly HeaderPair[] = [['Retry-After', '5']]

/** The responses to origin failures. The cause appears in the log only. */
export const originFailureAnswers: Readonly<Record<OriginFailure, [status: number, text: string]>> = {
  timeout: [504, 'The shop did not respond in time.'],
  unreachable: [502, 'The shop is unreachable or sent an invalid response.'],
  broken: [502, 'The shop is unreachable or sent an invalid response.'],
  overloaded: [503, 'The shop has too many visitors at the moment. Try again in a few seconds.'],
}

/** The answer to a visitor whose request the shop did not answer. */
export function originErrorAnswer(error: OriginError, refuse: Refuse = plainAnswer): CacheAnswer {
  const [status, text] = originFailureAnswers[error.failure]
  const answer = refuse(status, text)
  if (error.failure === 'overloaded') answer.headers.push(...retrySoon)
  answer.headers.push([
    'Cache-Status',
    formatCacheStatus({ kind: 'forward', why: error.why ?? 'miss', detail: originFailureText[error.failure] }),
  ])
  return answer
}

/** The response to a request that has passed through this cache before. */
export function loopAnswer(refuse: Refuse = plainAnswer): CacheAnswer {
  return refuse(
    508,
    'Request loop: the origin of the sales channel leads back to the cache. Check salesChannels[].origin.',
  )
}

/** Turns an OriginError into a response. */
export async function answeringOriginErrors(
  ask: () => Promise<CacheAnswer>,
  refuse: Refuse = plainAnswer,
): Promise<CacheAnswer> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof OriginError) return originErrorAnswer(error, refuse)
    throw error
  }
}
