import { HTTPError } from 'h3'
import { PagecacheError } from '../../errors.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { errorAnswer, type WholeAnswer } from '../answer.ts'

/** The default `Retry-After` by status, in seconds. */
const retryAfter: Record<number, string> = { 429: '60', 503: '1' }

/** Texts that hide the cause of an internal failure: an original message may name paths or contain anything else. */
const neutral: Record<number, string> = {
  500: 'The daemon failed to answer this request. Its log has the cause.',
  503: 'The daemon cannot do this at the moment. Try again later.',
}

const recordsLost =
  'The records were deleted or replaced while the daemon runs, so nothing can be written. The log of the daemon says what to do.'

/**
 * Converts an error of a handler into its answer. `Pagecache-Error` and `Pagecache-Hint` carry the error's code and hint, percent-encoded, so
 * that a remote command ends as a local one does.
 */
export function toErrorAnswer(error: unknown, refuse = errorAnswer): WholeAnswer {
  if (error instanceof HTTPError && error.status < 500)
    return refuse(error.status, error.message, [...(error.headers ?? [])])
  if (!(error instanceof PagecacheError)) return refuse(500, neutral[500]!)
  const { status, code, hint, message } = error
  const replacement = code === 'STORE_LOST' ? recordsLost : neutral[status]
  const headers: HeaderPair[] = [['Pagecache-Error', code]]
  if (hint !== null && replacement === undefined) headers.push(['Pagecache-Hint', toField(hint)])
  if (status === 401) headers.push(['WWW-Authenticate', 'Bearer'])
  if (retryAfter[status] !== undefined) headers.push(['Retry-After', retryAfter[status]])
  return refuse(status, replacement ?? message, headers)
}

/** Whether the operator must learn of an error from the log: it is a bug, or its answer hides the cause. */
export function isInternal(error: unknown): boolean {
  return !(error instanceof PagecacheError || error instanceof HTTPError) || error.status >= 500
}

/** The longest text in one header field, in characters: the whole head must fit what clients accept. */
const longestField = 1000

/** Encodes any text as the value of a header field. */
export function toField(text: string): string {
  return encodeURIComponent(text.slice(0, longestField).toWellFormed())
}
