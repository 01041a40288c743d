import { STATUS_CODES } from 'node:http'
import type { HeaderPair } from '../../pages/page.ts'

/** Renders a response head as bytes. Names and values came through an HTTP parser, so none contains a line break. */
export function renderHead(
  status: number,
  headers: readonly HeaderPair[],
  reason: string = STATUS_CODES[status] ?? '',
): Buffer {
  let head = `HTTP/1.1 ${status} ${reason}\r\n`
  for (const [name, value] of headers) head += `${name}: ${value}\r\n`
  return Buffer.from(`${head}\r\n`, 'latin1')
}
