import { connect, type Socket } from 'node:net'

/** An answer read from a raw connection. */
export interface WireAnswer {
  status: number
  headers: Readonly<Record<string, string>>
  /** Without chunk framing. */
  body: string
}

export interface Spoken {
  answers: WireAnswer[]
  /** Bytes after the last complete answer. */
  rest: string
  /** Whether the other side closed the connection. */
  closed: boolean
}

export interface SpeakOptions {
  /** Resolves after this many answers instead of when the connection closes. */
  answers?: number
  /** The methods of the requests in order; needed if one is HEAD. */
  methods?: readonly string[]
}

/** Sends bytes to a port of 127.0.0.1, piece by piece, and reads the answers until the other side closes. */
export async function speak(
  port: number,
  pieces: string | Buffer | readonly (string | Buffer)[],
  options: SpeakOptions = {},
): Promise<Spoken> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const list = typeof pieces === 'string' || Buffer.isBuffer(pieces) ? [pieces] : pieces
  const reading = read(socket, options)
  for (const piece of list) {
    if (socket.destroyed) break
    await new Promise<void>((resolve) =>
      socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece, () => resolve()),
    )
    // One turn of the event loop per piece, so that each is sent in its own segment.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return await reading
}

/** Reads a connection until it closes or has delivered the wanted answers. */
export async function read(socket: Socket, { answers: wanted, methods = [] }: SpeakOptions = {}): Promise<Spoken> {
  let bytes = Buffer.alloc(0)
  return await new Promise((resolve) => {
    const finish = (closed: boolean) => {
      const { answers, rest } = parseAnswers(bytes, methods, closed)
      resolve({ answers, rest, closed })
      socket.destroy()
    }
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      if (wanted !== undefined && parseAnswers(bytes, methods, false).answers.length >= wanted) finish(false)
    })
    // A reset after the answer counts as a close.
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    socket.on('close', () => finish(true))
  })
}

/** Splits bytes into answers. `closed`: the connection has ended, so an answer without a length is complete. */
export function parseAnswers(
  bytes: Buffer,
  methods: readonly string[],
  closed: boolean,
): { answers: WireAnswer[]; rest: string } {
  const answers: WireAnswer[] = []
  let text = bytes.toString('latin1')
  for (let final = 0; ;) {
    const end = text.indexOf('\r\n\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1])
    if (end < 0 || Number.isNaN(status)) return { answers, rest: text }
    const headers = Object.fromEntries(
      text
        .slice(0, end)
        .split('\r\n')
        .slice(1)
        .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const bodiless = status < 200 || status === 204 || status === 304 || methods[final] === 'HEAD'
    const body = bodiless ? { body: '', size: 0 } : bodyOf(text.slice(end + 4), headers, closed)
    if (body === null) return { answers, rest: text }
    answers.push({ status, headers, body: body.body })
    text = text.slice(end + 4 + body.size)
    if (status >= 200) final++
  }
}

function bodyOf(text: string, headers: Record<string, string>, closed: boolean): { body: string; size: number } | null {
  if (headers['transfer-encoding'] === 'chunked') {
    let body = ''
    for (let position = 0; ;) {
      const line = text.indexOf('\r\n', position)
      if (line < 0) return null
      const size = Number.parseInt(text.slice(position, line), 16)
      if (text.length < line + 2 + size + 2) return null
      body += text.slice(line + 2, line + 2 + size)
      position = line + 2 + size + 2
      if (size === 0) return { body, size: position }
    }
  }
  const length = headers['content-length']
  if (length === undefined) return closed ? { body: text, size: text.length } : null
  return text.length < Number(length) ? null : { body: text.slice(0, Number(length)), size: Number(length) }
}
