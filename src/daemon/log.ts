import { maskForLog, printable } from '../lib/safe-text.ts'
import { currentRequest, type AccessLog } from '../http/front/request-record.ts'

export type LogFormat = 'json' | 'text'

/** The daemon's log. */
export interface Log {
  info(message: string): void
  warn(message: string): void
  /** Logs an unexpected error with its stack. */
  error(message: string, error: unknown): void
  /** Null: no access log. */
  access: AccessLog | null
  /** Flushes pending lines. */
  close(): void
}

/**
 * Opens the daemon's log on standard error. `json`: one line per message (pino) with the process id and the request id. `text`: lines for a
 * terminal, ending with the request id. Both mask user names, passwords and queries in URLs.
 */
export async function openLog(format: LogFormat, access: boolean): Promise<Log> {
  return format === 'json' ? await jsonLog(access) : textLog(access)
}

async function jsonLog(access: boolean): Promise<Log> {
  const { default: pino } = await import('pino')
  // Asynchronous, so that a slow log reader delays no request; flushed at exit.
  const destination = pino.destination({ dest: 2, sync: false })
  const logger = pino(
    {
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: requestIdField,
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

/** Rounds to hundredths. */
function toHundredths(ms: number): number {
  return Math.round(ms * 100) / 100
}

function requestIdField(): object {
  const record = currentRequest.getStore()
  return record === undefined ? {} : { requestId: record.id }
}

function textLog(access: boolean): Log {
  const write = (text: string, id: string | undefined = currentRequest.getStore()?.id) =>
    void process.stderr.write(`${maskForLog(text)}${id === undefined ? '' : ` [${id}]`}\n`)
  return {
    info: (message) => write(printable(message)),
    warn: (message) => write(printable(message)),
    error: (message, error) => write(`${printable(message)}: ${describe(error).split('\n').map(printable).join('\n')}`),
    access: access
      ? ({ id, method, host, path, status, result, totalMs }) =>
          write(printable(`${method} ${host}${path} ${status} ${result} ${totalMs.toFixed(1)} ms`), id)
      : null,
    close: () => {},
  }
}

/** Renders an error with its chain of causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const own = error.stack ?? error.message
  return error.cause === undefined ? own : `${own}\ncaused by: ${describe(error.cause)}`
}
