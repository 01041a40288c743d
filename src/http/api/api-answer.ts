import { PagecacheError } from '../../errors.ts'

/** What an endpoint answers: a JSON value with its status and the fields that go with it. */
export interface ApiAnswer {
  status: number
  value: unknown
  /** The value as JSON, where that was made already. */
  text?: string
  headers: Readonly<Record<string, string>>
}

export function ok(value: unknown, headers: ApiAnswer['headers'] = {}): ApiAnswer {
  return { status: 200, value, headers }
}

/** Errors are always `{success: false, message}` (contract section 4). */
export function refusal(status: number, message: string, headers: ApiAnswer['headers'] = {}): ApiAnswer {
  return { status, value: { success: false, message }, headers }
}

/** Where nothing better is known than that it may pass, in seconds. */
const retryAfter: Record<number, string> = { 429: '60', 503: '1' }

/** What the cause is of, only the log says: a message of ours may name paths, one of others anything. */
const neutral: Record<number, string> = {
  500: 'Something went wrong here. The log of the daemon says what.',
  503: 'The daemon cannot do this at the moment. Try again.',
}

const lostText =
  'The records of the daemon were deleted or replaced while it runs, so nothing can be written. The log of the daemon says what to do.'

/**
 * An error of an operation as an answer. `pagecache-error` and `pagecache-hint` carry what the command line shows beside the message,
 * percent-encoded, so that a remote command ends as a local one does.
 */
export function toErrorAnswer(error: unknown): ApiAnswer {
  if (!(error instanceof PagecacheError)) return refusal(500, neutral[500]!)
  const { status, code, hint, message } = error
  const told = code === 'STORE_LOST' ? lostText : neutral[status]
  return refusal(status, told ?? message, {
    'pagecache-error': code,
    ...(hint !== null && told === undefined && { 'pagecache-hint': toField(hint) }),
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(retryAfter[status] !== undefined && { 'retry-after': retryAfter[status] }),
  })
}

/** What is told in a field has to fit into one, here and at those who read it. */
const longestField = 1000

/** Any text as the value of a field. */
export function toField(text: string): string {
  return encodeURIComponent(text.slice(0, longestField).toWellFormed())
}
