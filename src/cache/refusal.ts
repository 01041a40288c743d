import { formatCacheStatus } from './cache-status.ts'
import { OriginError } from './origin.ts'
import type { Answer } from './visit.ts'

/** A short plain-text response of the daemon itself; never stored by any cache. */
export function plainAnswer(status: number, text: string): Answer {
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

/** Details in Cache-Status. */
export const originFailureText = {
  timeout: 'origin timeout',
  unreachable: 'origin unreachable',
  broken: 'invalid origin response',
} as const

/**
 * The response to an origin failure: 504 for a timeout, 502 for an unreachable origin or an invalid response. The cause
 * appears in the log only.
 */
function originErrorAnswer(error: OriginError): Answer {
  const answer =
    error.failure === 'timeout'
      ? plainAnswer(504, 'The shop did not respond in time.')
      : plainAnswer(502, 'The shop is unreachable or sent an invalid response.')
  answer.headers.push([
    'Cache-Status',
    formatCacheStatus({ kind: 'forward', why: 'miss', detail: originFailureText[error.failure] }),
  ])
  return answer
}

/** The response to a request that has passed through this cache before. */
export function loopAnswer(): Answer {
  return plainAnswer(
    508,
    'Request loop: the origin of the sales channel leads back to the cache. Check salesChannels[].origin.',
  )
}

/** Turns an OriginError into a response. */
export async function answeringOriginErrors(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof OriginError) return originErrorAnswer(error)
    throw error
  }
}
