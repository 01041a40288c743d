import { createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ProxyRequest {
  /** `PURGE /`. */
  line: string
  headers: Record<string, string>
}

/** The status of the response; null: never respond. */
export type ProxyAnswer = number | null

export interface ProxyDouble {
  url: string
  requests: ProxyRequest[]
  /** Decides the following responses. */
  answer: (request: ProxyRequest) => ProxyAnswer | Promise<ProxyAnswer>
}

/** A reverse proxy that records its requests. It uses a plain socket, because Node's HTTP server refuses BAN. */
export async function proxyDouble(answer: ProxyDouble['answer'] = () => 200): Promise<ProxyDouble> {
  const sockets = new Set<Socket>()
  const double: ProxyDouble = { url: '', requests: [], answer }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const request = parse(text.slice(0, end))
        text = text.slice(end + 4)
        double.requests.push(request)
        void Promise.resolve(double.answer(request)).then((status) => {
          if (status !== null) socket.write(`HTTP/1.1 ${status} Answer\r\nContent-Length: 2\r\n\r\nok`)
        })
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  double.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return double
}

function parse(head: string): ProxyRequest {
  const [line = '', ...fields] = head.split('\r\n')
  return {
    line: line.replace(/ HTTP\/1\.1$/, ''),
    headers: Object.fromEntries(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 1).trim(),
      ]),
    ),
  }
}
