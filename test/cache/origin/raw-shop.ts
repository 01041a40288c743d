import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { OriginClient, type OriginError } from '../../../src/cache/origin.ts'
import type { Exchange, ExchangeRequest, ResponseHead, ResponseSink } from '../../../src/cache/origin/exchange.ts'
import type { SlotLimits } from '../../../src/cache/origin/slots.ts'

export interface RawShop {
  url: string
  port: number
  /** Every connection so far, with what came on it, in Latin-1. */
  connections: { socket: Socket; text: string }[]
}

/**
 * A shop that answers as the test says.
 *
 * @param onText called with each piece that comes; `number` counts the connections from 0
 */
export async function openRawShop(
  onText: (socket: Socket, text: string, number: number) => void,
  host = '127.0.0.1',
  make: (listener: (socket: Socket) => void) => Server = (listener) => createServer({ noDelay: true }, listener),
): Promise<RawShop> {
  const connections: RawShop['connections'] = []
  const server = make((socket) => {
    const number = connections.push({ socket, text: '' }) - 1
    socket
      .on('error', () => {})
      .on('data', (bytes: Buffer) => {
        const text = bytes.toString('latin1')
        connections[number]!.text += text
        onText(socket, text, number)
      })
  })
  await new Promise<void>((resolve) => server.listen(0, host, () => resolve()))
  onTestFinished(() => {
    for (const { socket } of connections) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, port, connections }
}

const patient = { connect: 20_000, headers: 20_000, idle: 20_000, total: 20_000 }

export function openClient(timeouts: Partial<typeof patient> = {}, limits?: SlotLimits): OriginClient {
  const client = new OriginClient({ ...patient, ...timeouts }, limits)
  onTestFinished(() => client.close())
  return client
}

/** What became of an exchange. */
export interface Result {
  head: ResponseHead | null
  interim: number[]
  body: string
  error: OriginError | null
}

export interface Asked {
  exchange: Exchange
  result: Promise<Result>
  /** What has come so far. */
  soFar: Result
}

export function ask(
  client: OriginClient,
  request: Partial<ExchangeRequest> & { origin: string },
  sink: Partial<ResponseSink> = {},
): Asked {
  const soFar: Result = { head: null, interim: [], body: '', error: null }
  const { promise, resolve } = Promise.withResolvers<Result>()
  const exchange = client.begin(
    { method: 'GET', target: '/', headers: [['host', 'shop.example']], body: null, ...request },
    {
      onInterim: (status) => void soFar.interim.push(status),
      onHead: (head) => ((soFar.head = head), true),
      onData: (piece) => ((soFar.body += piece.toString('latin1')), true),
      onEnd: () => resolve(soFar),
      onError: (error) => resolve({ ...soFar, error }),
      onDrain: () => {},
      ...sink,
    },
  )
  return { exchange, result: promise, soFar }
}

export const plain = (body: string, more = '') =>
  `HTTP/1.1 200 OK\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`
