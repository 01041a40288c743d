import { STATUS_CODES } from 'node:http'
import type { HeaderPair } from '../../pages/page.ts'
import type { WholeAnswer } from '../answer.ts'

/** Renders a response head as bytes. */
export function renderHead(
  status: number,
  headers: readonly HeaderPair[],
  reason: string = STATUS_CODES[status] ?? '',
): Buffer {
  return Buffer.from(headText(status, headers, reason), 'latin1')
}

/** A response head in Latin-1. Names and values came through an HTTP parser, so none contains a line break. */
export function headText(
  status: number,
  headers: readonly HeaderPair[],
  reason: string = STATUS_CODES[status] ?? '',
): string {
  let head = `HTTP/1.1 ${status} ${reason}\r\n`
  for (const [name, value] of headers) head += `${name}: ${value}\r\n`
  return `${head}\r\n`
}

/** An answer as bytes, for connections that are answered on their socket. `close`: the connection closes after it. */
export function renderAnswer({ status, reason, headers, body }: WholeAnswer, close: boolean): Buffer {
  const fields = close ? [...headers, ['Connection', 'close'] as const] : headers
  return Buffer.concat([renderHead(status, fields, reason), typeof body === 'string' ? Buffer.from(body) : body])
}
