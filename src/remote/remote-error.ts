import { isErrorCode, PagecacheError, type ErrorCode } from '../errors.ts'
import type { RemoteResponse } from './transport.ts'

/** Error codes by status, for responses without a `Pagecache-Error` header. */
const codes: Record<number, ErrorCode> = {
  400: 'INVALID_INPUT',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'WRONG_STATE',
  413: 'TOO_LARGE',
  429: 'TOO_MANY_REQUESTS',
}

/** Converts an unsuccessful response to the error that the operation would throw on this machine. */
export function toRemoteError(server: string, { status, headers, value }: RemoteResponse): PagecacheError {
  const { success, message } = (value ?? {}) as { success?: unknown; message?: unknown }
  if (success !== false || typeof message !== 'string') {
    return new PagecacheError(
      'SERVER_UNREACHABLE',
      `${server} responded with status ${status}, but not as a pagecache daemon.`,
      {
        hint: 'Check that the address is that of the daemon, not of a proxy or the shop.',
      },
    )
  }
  const code = textOf(headers['pagecache-error'])
  const hint = [textOf(headers['pagecache-hint']), logHint(status, headers['x-request-id'])]
    .filter((text) => text !== null)
    .join(' ')
  const options = hint === '' ? {} : { hint }
  if (code !== null && isErrorCode(code)) return new PagecacheError(code, message, options)
  return new PagecacheError(
    codes[status] ?? 'SERVER_FAILED',
    codes[status] === undefined ? `${server}: ${message}` : message,
    options,
  )
}

/** Points to the daemon's log, which has the cause of an internal error. */
function logHint(status: number, id: string | string[] | undefined): string | null {
  if ((status !== 500 && status !== 503) || typeof id !== 'string' || !/^[\w.:-]{1,64}$/.test(id)) return null
  return `See request ${id} in the log of the daemon.`
}

/** Decodes a percent-encoded header; null if missing or malformed. */
export function textOf(header: string | string[] | undefined): string | null {
  if (typeof header !== 'string') return null
  try {
    return decodeURIComponent(header)
  } catch {
    return null
  }
}
