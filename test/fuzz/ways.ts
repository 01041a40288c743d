import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Origin } from '../helpers/origin.ts'
import { parseAnswers, type WireAnswer } from '../http/front/wire.ts'

/** Outcome of the bytes of one client. */
export interface Outcome {
  answers: { status: number; headers: Record<string, string>; body: string }[]
  /** Bytes of an incomplete response. */
  rest: string
  /** Requests that reached the shop. */
  shop: string[]
}

/** How the bytes arrive. `late`: on a connection that Node's server has already taken over. */
export interface Way {
  name: string
  late: boolean
  pieces: readonly string[]
}

/** The last request of each client. A response shows that the connection was still in use. */
const lastWord = (host: string) => `GET /pass/last HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
/** Node's server answers it, because it announces a body. */
const firstWord = (host: string) => `GET /pass/first HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`

/**
 * Sends bytes to a daemon on 127.0.0.1 and reads until it closes the connection.
 *
 * @param quiet ms without a response after which the client leaves; only incomplete requests wait that long
 */
export async function send(port: number, origin: Origin, host: string, way: Way, quiet: number): Promise<Outcome> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let bytes = Buffer.alloc(0)
  let heardAt = performance.now()
  let heard: () => void = () => {}
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    heardAt = performance.now()
    heard()
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  if (way.late) {
    socket.write(firstWord(host))
    while (parseAnswers(bytes, [], false).answers.length === 0) await new Promise<void>((resolve) => (heard = resolve))
    bytes = Buffer.alloc(0)
  }
  origin.forget()
  const say = (piece: string) =>
    new Promise<void>((resolve) => socket.write(Buffer.from(piece, 'latin1'), () => resolve()))
  for (const piece of way.pieces) {
    if (!socket.writable) break
    await say(piece)
    // Usually the daemon reads each piece separately. If not, that is one more way to receive the bytes.
    await (way.pieces.length > 2 ? new Promise((resolve) => setImmediate(resolve)) : pause(2))
  }
  await Promise.race([
    pause(15),
    closed,
    new Promise<void>((resolve) => (bytes.length > 0 ? resolve() : (heard = resolve))),
  ])
  if (socket.writable) await say(lastWord(host))
  heardAt = performance.now()
  // The daemon waits for the rest of an incomplete request. Node treats the end of a client's data as a disconnect, so it is sent last.
  const ending = setInterval(() => (heardAt + quiet < performance.now() ? socket.end() : null), quiet / 4)
  await closed
  clearInterval(ending)
  const { answers, rest } = parseAnswers(bytes, methodsOf(way.pieces.join('')), true)
  return {
    answers: answers.map(lasting),
    rest: rest.replace(volatileLine, ''),
    shop: origin.requests.map(told).toSorted(),
  }
}

const volatileLine = /^(?:date|age|x-request-id): .*\r\n/gim

/** The methods of the requests: a response to HEAD has no body. */
function methodsOf(text: string): string[] {
  return [
    ...text.matchAll(
      /(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|PURGE|BAN|PURGEKEYS|QUERY) +(?!\/smuggled )\S* +HTTP\/1\.[01]\r\n/g,
    ),
  ].map((match) => match[1]!)
}

/** Headers without a meaning for the comparison: idle time-outs, and values that change every second. */
const passing = new Set(['date', 'age', 'x-request-id', 'keep-alive'])

function lasting({ status, headers, body }: WireAnswer): Outcome['answers'][number] {
  const kept = Object.entries(headers).filter(
    ([name, value]) => !passing.has(name) && (name !== 'connection' || value !== 'keep-alive'),
  )
  return {
    status,
    headers: Object.fromEntries(kept.map(([name, value]) => [name, value.replace(/ttl=\d+/, 'ttl')])),
    body,
  }
}

function told({ method, url, rawHeaders, body }: Origin['requests'][number]): string {
  // A body that had arrived as a whole is sent with its length, another one in chunks.
  const lines = rawHeaders
    .filter(([name]) => !/^(?:x-request-id|connection|content-length|transfer-encoding)$/i.test(name))
    .map(([name, value]) => `${name.toLowerCase()}: ${value}`)
  return [`${method} ${url}`, ...lines.toSorted(), body.toString('latin1')].join('\n')
}

/**
 * Whether two ways have equivalent outcomes. A connection may end earlier one way (an unread body, a BAN on a connection of Node's server),
 * but only after the same response, and requests after that must not reach the shop.
 */
export function agree(a: Outcome, b: Outcome): boolean {
  // A client that keeps writing during the last response may be reset before its end (RFC 9112 §9.6).
  const isCut = a.rest.startsWith('HTTP/1.1 ') || b.rest.startsWith('HTTP/1.1 ')
  const ends = ({ answers }: Outcome) => answers.findIndex(({ headers }) => headers['connection'] === 'close')
  const last = Math.min(
    ...[ends(a), ends(b)].filter((index) => index >= 0),
    isCut ? Math.min(a.answers.length, b.answers.length) - 1 : Number.MAX_SAFE_INTEGER,
  )
  // A refusal may be sent before the rest of a body arrives that would have been malformed. Either one closes the connection.
  const compared =
    isMalformed(a, last) !== isMalformed(b, last) && isRefusal(a, last) && isRefusal(b, last) ? last : last + 1
  const until = ({ answers }: Outcome) =>
    JSON.stringify(
      answers
        .slice(0, compared)
        .map(({ headers, ...answer }) => ({ ...answer, headers: { ...headers, connection: null } })),
    )
  if (until(a) !== until(b)) return false
  const [fewer, more] = a.shop.length <= b.shop.length ? [a, b] : [b, a]
  const refused = (a.answers[last]?.status ?? 0) >= 400
  // The beginning of a malformed body may have reached the shop.
  if (ends(a) === ends(b) && !refused && !isCut) return a.rest === b.rest && a.shop.join('\0') === b.shop.join('\0')
  return fewer.shop.every((request) => more.shop.includes(request))
}

function isRefusal({ answers }: Outcome, index: number): boolean {
  return (answers[index]?.status ?? 0) >= 400
}

/** Whether the parser of Node refused the request. */
function isMalformed({ answers }: Outcome, index: number): boolean {
  return answers[index]?.status === 400 && answers[index].body.includes('The request is not valid HTTP.')
}

/** Whether a request reached the shop without a response to the client. */
export function unanswered({ answers, shop }: Outcome): boolean {
  return (
    shop.some((request) => request.startsWith('GET /pass/last')) &&
    !answers.some(({ body }) => body.includes('/pass/last'))
  )
}
