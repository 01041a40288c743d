import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Shop } from '../api/shop.ts'
import { parseAnswers, type WireAnswer } from './wire.ts'

/** The text of a request for a host, unless its fields name another one. */
export function requestFor(host: string, line: string, fields: readonly string[] = [], body = ''): string {
  const lines = fields.some((field) => field.startsWith('Host:')) ? fields : [`Host: ${host}`, ...fields]
  return `${line} HTTP/1.1\r\n${lines.map((field) => `${field}\r\n`).join('')}\r\n${body}`
}

/** What Node's server adds to its answers, and what changes from second to second. */
const passing = new Set(['date', 'age', 'connection', 'keep-alive', 'x-request-id'])

export interface Outcome {
  answers: { status: number; headers: Record<string, string>; body: string }[]
  rest: string
  /** Whether each answer was written to the socket: Node's server says how long it keeps a connection. */
  fromSocket: boolean[]
  /** What reached the shop. */
  shop: unknown[]
}

/** Sends a request in pieces and reads until it is answered, or the daemon cuts the connection. */
export async function send(shop: Shop, pieces: readonly string[], method: string): Promise<Outcome> {
  shop.origin.forget()
  const socket = connect({ port: shop.port, host: '127.0.0.1', noDelay: true })
  let bytes = Buffer.alloc(0)
  const final = () => parseAnswers(bytes, [method], false).answers.filter(({ status }) => status >= 200)
  const over = new Promise<boolean>((resolve) => {
    socket
      .on('data', (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk])
        if (final().length > 0) resolve(false)
      })
      .on('error', () => {})
      .once('close', () => resolve(true))
  })
  for (const piece of pieces) {
    await new Promise<void>((resolve) => socket.write(Buffer.from(piece, 'latin1'), () => resolve()))
    if (pieces.length > 1) await pause(2)
  }
  const closed = await over
  socket.destroy()
  const { answers, rest } = parseAnswers(bytes, [method], closed)
  return {
    answers: answers.map(({ status, headers, body }) => ({
      status,
      headers: Object.fromEntries(
        Object.entries(headers)
          .filter(([name]) => !passing.has(name))
          .map(([name, value]) => [name, value.replace(/ttl=\d+/, 'ttl')]),
      ),
      body,
    })),
    rest: rest.replace(/^(?:date|connection|keep-alive): .*\r\n/gim, ''),
    fromSocket: answers.filter(({ status }) => status >= 200).map(isFromSocket),
    shop: shop.origin.requests.map(({ method: seen, url, rawHeaders, body }) => [
      seen,
      url,
      rawHeaders.map(([name, value]) => `${name}: ${value}`).toSorted(),
      body.toString('latin1'),
    ]),
  }
}

export const isFromSocket = ({ headers }: WireAnswer) =>
  headers['keep-alive'] === undefined && headers['connection'] === undefined

export const methodOf = (text: string) => text.split(' ', 1)[0]!
