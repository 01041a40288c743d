import { cacheStatus } from './cache-status.ts'
import type { OriginError } from './origin.ts'
import type { Answer } from './visit.ts'

/** A short text of our own; never stored by anybody. */
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

/** In Cache-Status. */
export const troubleText = {
  timeout: 'origin timeout',
  unreachable: 'origin unreachable',
  broken: 'origin answer broken',
} as const

/** 504 for a shop that was too slow, 502 for one that could not be reached or answered nonsense; the cause stays in the log. */
export function troubleAnswer(error: OriginError): Answer {
  const answer =
    error.trouble === 'timeout'
      ? plainAnswer(504, 'The shop took too long to answer.')
      : plainAnswer(502, 'The shop could not be reached or broke off.')
  answer.headers.push([
    'Cache-Status',
    cacheStatus({ kind: 'forward', why: 'miss', detail: troubleText[error.trouble] }),
  ])
  return answer
}
