import type { PageDraft } from '../pages/page.ts'
import { hasMarkup } from './esi/response.ts'
import type { FetchOptions, OriginFetch } from './fetch-options.ts'
import { errorReason, partialReason, type Fetched } from './fetched.ts'
import { fieldValue } from './fields.ts'
import type { ResponseHead } from './origin/exchange.ts'
import { reasonAgainst } from './probe.ts'
import { parseContentRange } from './range.ts'

/** The most that is read of a body without Content-Length, in bytes. A larger one is a download or never ends. */
const largestUnannounced = 1024 * 1024

/** What the head of a response says about its body. */
export interface Judged {
  range: PageDraft['range']
  notStored: string | null
  /** Requests the page without the markup that this response has; null where it has none. */
  withoutMarkup: (() => Promise<Fetched>) | null
  /** The largest body that is collected, in bytes; null when none is, because the response is passed on or not used. */
  limit: number | null
}

/** Decides by the head of a response, other than a 304, whether its body is collected and may be stored. */
export function judge(
  options: FetchOptions,
  { lookup, outlasts, withoutMarkup }: Pick<OriginFetch, 'lookup' | 'outlasts' | 'withoutMarkup'>,
  response: Pick<ResponseHead, 'status' | 'headers'>,
): Judged {
  const { status, headers } = response
  const range = status === 206 ? parseContentRange(fieldValue(headers, 'content-range')) : null
  const notStored =
    reasonAgainst(options, lookup, status, headers) ?? errorReason(response, outlasts) ?? partialReason(response, range)
  // Markup must not reach the visitor. What cannot be assembled is requested as a page without it.
  const plainly = hasMarkup(headers) ? withoutMarkup : null
  const announced = fieldValue(headers, 'content-length')
  const isWanted = plainly === null ? notStored === null : status !== 206
  const limit = announced === null ? Math.min(options.maxPageSize, largestUnannounced) : options.maxPageSize
  const isTooLarge = Number(announced ?? 0) > limit
  return { range, notStored, withoutMarkup: plainly, limit: isWanted && !isTooLarge ? limit : null }
}
