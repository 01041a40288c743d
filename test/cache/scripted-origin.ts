import { createServer, type AddressInfo, type Socket } from 'node:net'
import { formatHttpDate } from '../../src/lib/http-date.ts'

/** Fields by name; an array is sent as several lines. */
export type Fields = Readonly<Record<string, string | readonly string[]>>

/** The origin's response, sent verbatim. Only missing `Date` and `Content-Length` are added. */
export interface Reply {
  status?: number
  fields?: Fields
  body?: string | Buffer
  /** Interim responses sent first. */
  interim?: readonly { status: number; fields?: Fields }[]
  /** Closes the connection before the head, or in the middle of the body. */
  breaks?: 'before' | 'within'
  /** How long the response takes on the fake clock, in seconds. */
  takes?: number
  /** Sends no `Date`. */
  dateless?: boolean
}

export interface OriginRequest {
  method: string
  target: string
  fields: ReadonlyMap<string, string>
  body: string
}

export interface ScriptedOrigin {
  url: string
  requests: OriginRequest[]
  close(): Promise<void>
}

export interface OriginScript {
  now(): number
  advance(seconds: number): void
  answer(request: OriginRequest): Reply | Promise<Reply>
}

/** An HTTP/1.1 server on 127.0.0.1 that can send invalid responses. */
export async function startScriptedOrigin(script: OriginScript): Promise<ScriptedOrigin> {
  const requests: OriginRequest[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    void serve(socket, script, requests)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

async function serve(socket: Socket, script: OriginScript, requests: OriginRequest[]): Promise<void> {
  let pending = ''
  // The connection fails when a visitor disconnects.
  try {
    for await (const chunk of socket) {
      pending += (chunk as Buffer).toString('latin1')
      for (let taken = takeRequest(pending); taken !== null; taken = takeRequest(pending)) {
        pending = taken.rest
        requests.push(taken.request)
        const reply = await script.answer(taken.request)
        if (reply.takes !== undefined) script.advance(reply.takes)
        send(socket, taken.request.method, reply, script.now())
      }
    }
  } catch {
    socket.destroy()
  }
}

function takeRequest(text: string): { request: OriginRequest; rest: string } | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return null
  const [line = '', ...lines] = text.slice(0, end).split('\r\n')
  const fields = new Map<string, string>()
  for (const each of lines) {
    const colon = each.indexOf(':')
    const name = each.slice(0, colon).toLowerCase()
    const value = each.slice(colon + 1).trim()
    fields.set(name, fields.has(name) ? `${fields.get(name)}, ${value}` : value)
  }
  const size = Number(fields.get('content-length') ?? 0)
  const rest = text.slice(end + 4)
  if (rest.length < size) return null
  const [method = '', target = ''] = line.split(' ')
  return { request: { method, target, fields, body: rest.slice(0, size) }, rest: rest.slice(size) }
}

function send(socket: Socket, method: string, reply: Reply, now: number): void {
  if (reply.breaks === 'before') return void socket.resetAndDestroy()
  for (const interim of reply.interim ?? []) socket.write(head(interim.status, interim.fields ?? {}))
  const { status = 200 } = reply
  const body = Buffer.from(reply.body ?? '')
  const fields: Record<string, string | readonly string[]> = { ...reply.fields }
  const has = (name: string) => Object.keys(fields).some((key) => key.toLowerCase() === name)
  if (!has('date') && reply.dateless !== true) fields['Date'] = formatHttpDate(now)
  const bodiless = method === 'HEAD' || status === 204 || status === 304
  if (!has('content-length') && !has('transfer-encoding') && !bodiless) fields['Content-Length'] = String(body.length)
  socket.write(head(status, fields), 'latin1')
  if (bodiless) return
  if (reply.breaks === 'within') return void socket.write(body.subarray(0, body.length >> 1), () => socket.destroy())
  socket.write(body)
}

function head(status: number, fields: Fields): string {
  const lines = Object.entries(fields).flatMap(([name, value]) => [value].flat().map((line) => `${name}: ${line}\r\n`))
  return `HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n`
}
