/**
 * Every error that an operator or a client can meet stands here once: what it is called, which HTTP
 * status and which exit code it becomes. Anything else that is thrown is our bug: exit 1, status 500.
 */
const kinds = {
  CONFIG_INVALID: { status: 500, exit: 2 },
  USAGE: { status: 400, exit: 2 },
  INVALID_INPUT: { status: 400, exit: 2 },
  NOT_FOUND: { status: 404, exit: 3 },
  WRONG_STATE: { status: 409, exit: 3 },
  STORE_FOREIGN: { status: 500, exit: 1 },
  STORE_NEWER: { status: 500, exit: 1 },
  STORE_OLDER: { status: 503, exit: 1 },
  STORE_DAMAGED: { status: 500, exit: 1 },
  STORE_BUSY: { status: 503, exit: 5 },
  STORE_FULL: { status: 503, exit: 5 },
  STORE_LOST: { status: 503, exit: 5 },
  STORE_UNREACHABLE: { status: 503, exit: 5 },
  STORE_UNREADABLE: { status: 503, exit: 5 },
  LISTEN_FAILED: { status: 500, exit: 1 },
  CHECK_FAILED: { status: 500, exit: 1 },
  LEASE_LOST: { status: 409, exit: 1 },
  WARMUP_FAILED: { status: 502, exit: 1 },
  UNAUTHORIZED: { status: 401, exit: 4 },
  FORBIDDEN: { status: 403, exit: 4 },
  TOO_LARGE: { status: 413, exit: 2 },
  TOO_MANY_REQUESTS: { status: 429, exit: 1 },
  SERVER_UNREACHABLE: { status: 502, exit: 5 },
  SERVER_FAILED: { status: 502, exit: 1 },
  /** The answer to a question was no: nothing was done, which is no failure. */
  DECLINED: { status: 409, exit: 0 },
  INTERRUPTED: { status: 503, exit: 130 },
  /** A command ran longer than its `--timeout`. */
  TIMED_OUT: { status: 504, exit: 1 },
} as const

export type ErrorCode = keyof typeof kinds

export const errorCodes = Object.keys(kinds) as ErrorCode[]

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(kinds, text)
}

/** An error with a message for the operator and, where there is one, what to do next. */
export class PagecacheError extends Error {
  readonly code: ErrorCode
  readonly hint: string | null
  readonly status: number
  readonly exit: number

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'PagecacheError'
    this.code = code
    this.hint = options.hint ?? null
    this.status = kinds[code].status
    this.exit = kinds[code].exit
  }
}

export function unknownChannel(id: string, channels: readonly { id: string; name: string }[]): PagecacheError {
  const known = channels.map((channel) => `${channel.id} (${channel.name})`).join(', ')
  return new PagecacheError('NOT_FOUND', `There is no sales channel with the id ${id}.`, {
    hint:
      known === ''
        ? 'No sales channel is configured: add one under salesChannels in pagecache.yaml.'
        : `Configured: ${known}.`,
  })
}

/** An error as it crosses a thread's border, where classes are lost. */
export interface ErrorMessage {
  code: ErrorCode | null
  message: string
  hint: string | null
}

export function toMessage(error: unknown): ErrorMessage {
  if (error instanceof PagecacheError) return { code: error.code, message: error.message, hint: error.hint }
  return { code: null, message: error instanceof Error ? (error.stack ?? error.message) : String(error), hint: null }
}

export function fromMessage({ code, message, hint }: ErrorMessage): Error {
  return code === null ? new Error(message) : new PagecacheError(code, message, hint === null ? {} : { hint })
}
