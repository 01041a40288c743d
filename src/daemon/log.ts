import { maskForLog } from '../lib/mask.ts'
import { printable } from '../lib/printable.ts'
import { currentRequest, type AccessLog } from '../http/front/request-record.ts'

export type LogFormat = 'json' | 'text'

/** Where a daemon says what happens to it. */
export interface Log {
  info(message: string): void
  warn(message: string): void
  /** Something failed that should not have: with its stack. */
  error(message: string, error: unknown): void
  /** Null where no access log is wanted. */
  access: AccessLog | null
  /** What is still to be written is written. */
  close(): void
}

/**
 * The daemon's log on standard error. `json`: a line a message (pino), with the process's id and the request's; `text`: lines for a terminal, with the
 * request's at their end. User names, passwords and queries of URLs are masked in both.
 */
export async function openLog(format: LogFormat, access: boolean): Promise<Log> {
  return format === 'json' ? await jsonLog(access) : textLog(access)
}

async function jsonLog(access: boolean): Promise<Log> {
  const { default: pino } = await import('pino')
  // Nobody waits for a slow reader of the log; at the end what is left is written at once.
  const destination = pino.destination({ dest: 2, sync: false })
  const logger = pino(
    {
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: requestOfNow,
    },
    destination,
  )
  const flush = () => destination.flushSync()
  process.once('exit', flush)
  return {
    info: (message) => logger.info(maskForLog(message)),
    warn: (message) => logger.warn(maskForLog(message)),
    error: (message, error) => logger.error({ error: maskForLog(describe(error)) }, maskForLog(message)),
    access: access
      ? (line) =>
          logger.info(
            { request: { ...line, ms: toHundredths(line.ms), totalMs: toHundredths(line.totalMs) } },
            'request',
          )
      : null,
    close: () => {
      process.off('exit', flush)
      flush()
    },
  }
}

/** Finer is noise. */
function toHundredths(ms: number): number {
  return Math.round(ms * 100) / 100
}

function requestOfNow(): object {
  const record = currentRequest.getStore()
  return record === undefined ? {} : { requestId: record.id }
}

function textLog(access: boolean): Log {
  const say = (text: string, id: string | undefined = currentRequest.getStore()?.id) =>
    void process.stderr.write(`${maskForLog(text)}${id === undefined ? '' : ` [${id}]`}\n`)
  return {
    info: (message) => say(printable(message)),
    warn: (message) => say(printable(message)),
    error: (message, error) => say(`${printable(message)}: ${describe(error).split('\n').map(printable).join('\n')}`),
    access: access
      ? ({ id, method, host, path, status, result, totalMs }) =>
          say(printable(`${method} ${host}${path} ${status} ${result} ${totalMs.toFixed(1)} ms`), id)
      : null,
    close: () => {},
  }
}

/** With what brought it about, as far down as that goes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const own = error.stack ?? error.message
  return error.cause === undefined ? own : `${own}\ncaused by: ${describe(error.cause)}`
}
