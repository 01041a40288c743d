import { isErrorCode, PagecacheError, type ErrorCode } from '../errors.ts'
import type { RemoteResponse } from './transport.ts'

/** What a status means where the answer does not say it more exactly. */
const codes: Record<number, ErrorCode> = {
  400: 'INVALID_INPUT',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'WRONG_STATE',
  413: 'TOO_LARGE',
  429: 'TOO_MANY_REQUESTS',
}

/** A daemon's answer that is no success, as the error that the same operation would have thrown here. */
export function toRemoteError(server: string, { status, headers, value }: RemoteResponse): PagecacheError {
  const { success, message } = (value ?? {}) as { success?: unknown; message?: unknown }
  if (success !== false || typeof message !== 'string') {
    return new PagecacheError(
      'SERVER_UNREACHABLE',
      `${server} answers with status ${status}, and not as pagecache does.`,
      {
        hint: 'Does the address lead to the daemon, and not to what stands before or behind it?',
      },
    )
  }
  const named = textOf(headers['pagecache-error'])
  const hint = [textOf(headers['pagecache-hint']), whereToLook(status, headers['x-request-id'])]
    .filter((text) => text !== null)
    .join(' ')
  const options = hint === '' ? {} : { hint }
  if (named !== null && isErrorCode(named)) return new PagecacheError(named, message, options)
  return new PagecacheError(
    codes[status] ?? 'SERVER_FAILED',
    codes[status] === undefined ? `${server}: ${message}` : message,
    options,
  )
}

/** Of what the daemon keeps to itself, its log says more; null where there is nothing to look for. */
function whereToLook(status: number, id: string | string[] | undefined): string | null {
  if ((status !== 500 && status !== 503) || typeof id !== 'string' || !/^[\w.:-]{1,64}$/.test(id)) return null
  return `In the log of the daemon this is the request ${id}.`
}

/** What a field says that was sent percent-encoded; null where it is missing or broken. */
export function textOf(field: string | string[] | undefined): string | null {
  if (typeof field !== 'string') return null
  try {
    return decodeURIComponent(field)
  } catch {
    return null
  }
}
