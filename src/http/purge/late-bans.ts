import type { Socket } from 'node:net'
import { renderAnswer } from './ban-connection.ts'
import { readBan, type BanReading } from './ban-request.ts'
import type { Pipelines } from '../front/pipelines.ts'
import { forbidden, type PurgeMethods } from './methods.ts'
import { endWith } from '../front/refuse.ts'

/** What Node's parser tells of bytes that it cannot read. */
type ParseError = NodeJS.ErrnoException & { bytesParsed?: number; rawPacket?: Buffer }

/** Bytes kept of what a connection sent: the longest beginning of a method, and the byte before it. */
const tailLength = 16

/**
 * Reads purges by methods that Node's parser does not know off connections that are Node's already: the parser refuses the method and
 * hands over the chunk. The beginning of the method may have come in the chunk before that, which the parser does not keep, so the last
 * bytes of each chunk are kept here, on connections of purgers alone. The answer is the last on the connection, since the parser
 * cannot go on.
 */
export class LateBans {
  readonly #purges: () => PurgeMethods
  readonly #pipelines: Pipelines
  readonly #held = new WeakMap<Socket, Buffer>()
  readonly #tails = new WeakMap<Socket, { bytes: Buffer; listener: (chunk: Buffer) => void }>()

  constructor(purges: () => PurgeMethods, pipelines: Pipelines) {
    this.#purges = purges
    this.#pipelines = pipelines
  }

  /** Looks at what a connection sends from here on; Node's parser must listen to it already, so that it reports a chunk before this keeps its end. */
  watch(socket: Socket): void {
    if (!this.#purges().isPurger(socket.remoteAddress)) return
    const listener = (chunk: Buffer) => {
      // Copied: a part of the chunk would keep all of it in memory.
      tail.bytes = Buffer.concat([tail.bytes, chunk.subarray(-tailLength)]).subarray(-tailLength)
    }
    const tail = { bytes: nothing, listener }
    this.#tails.set(socket, tail)
    socket.on('data', listener)
  }

  /** The connection speaks HTTP no longer. */
  forget(socket: Socket): void {
    const tail = this.#tails.get(socket)
    if (tail !== undefined) socket.removeListener('data', tail.listener)
    this.#tails.delete(socket)
  }

  /** True where a parse error is such a request, or the beginning of one, and is taken care of. */
  take(error: ParseError, socket: Socket): boolean {
    const reading = this.#read(error, socket)
    if (reading === null) return false
    if (!this.#purges().isPurger(socket.remoteAddress)) {
      this.#pipelines.refuseBroken(socket, () => endWith(socket, renderAnswer(forbidden, true)))
      return true
    }
    // The rest of it comes as a further error of the same parser.
    if (reading.kind === 'partial') return true
    this.#held.delete(socket)
    this.#pipelines.refuseBroken(socket, () => {
      socket.setTimeout(0)
      void this.#purges()
        .answer(reading.head, socket.remoteAddress)
        .then((answer) => endWith(socket, renderAnswer(answer, true)))
    })
    return true
  }

  #read(error: ParseError, socket: Socket): Exclude<BanReading, { kind: 'other' }> | null {
    if (error.code !== 'HPE_INVALID_METHOD' || error.rawPacket === undefined) return null
    const held = this.#held.get(socket)
    const bytes =
      held === undefined
        ? beginningOf(this.#tails.get(socket)?.bytes ?? nothing, error.rawPacket, error.bytesParsed ?? 0)
        : Buffer.concat([held, error.rawPacket])
    const reading: BanReading = bytes === null ? { kind: 'other' } : readBan(bytes)
    if (reading.kind === 'other') {
      this.#held.delete(socket)
      return null
    }
    this.#held.set(socket, bytes!)
    return reading
  }
}

const nothing: Buffer = Buffer.alloc(0)

/** How far into a method Node's parser gets before it knows that it is none of its own: `BIND`, `PURGE`. */
const readable = [
  1, // BAN
  5, // PURGEKEYS
]

/**
 * The bytes from the beginning of the message that could not be parsed on; null where it is no purge.
 *
 * @param tail what came before the chunk
 * @param parsed how many bytes of the chunk the parser has read
 */
function beginningOf(tail: Buffer, chunk: Buffer, parsed: number): Buffer | null {
  for (const into of readable) {
    const missing = Math.max(0, into - parsed)
    if (missing > tail.length) continue
    const bytes = missing === 0 ? chunk : Buffer.concat([tail, chunk])
    const start = (missing === 0 ? parsed : tail.length + parsed) - into
    // `UNBAN`: the parser was on its way to UNBIND.
    const before = start > 0 ? bytes[start - 1]! : ((missing === 0 ? tail.at(-1) : undefined) ?? 0)
    if (before >= 0x41 && before <= 0x5a) continue
    if (readBan(bytes.subarray(start)).kind !== 'other') return bytes.subarray(start)
  }
  return null
}
