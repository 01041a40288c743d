import type { Socket } from 'node:net'
import { readBan, type BanReading } from './ban-request.ts'
import type { Pipelines } from '../front/pipelines.ts'
import { forbidden, type PurgeMethods } from './methods.ts'
import { endWith } from '../front/refuse.ts'
import { renderAnswer } from '../front/render.ts'

/** The error of Node's parser, with the chunk that it could not parse. */
type ParseError = NodeJS.ErrnoException & { bytesParsed?: number; rawPacket?: Buffer }

/** Bytes kept of what a connection has sent: the longest prefix of a method, and the byte before it. */
const tailLength = 16

/**
 * Answers BAN and PURGEKEYS on connections that Node's server has taken over: its parser refuses the method and hands over the chunk. The first
 * bytes of the method may have arrived in the chunk before, which the parser does not keep. So the last bytes of a chunk are kept here where
 * they can be such a beginning, for connections of purgers only. The answer is the last on its connection, because the parser cannot
 * continue.
 */
export class LateBans {
  readonly #purges: () => PurgeMethods
  readonly #pipelines: Pipelines
  readonly #held = new WeakMap<Socket, Buffer>()
  readonly #tails = new WeakMap<Socket, Buffer>()

  constructor(purges: () => PurgeMethods, pipelines: Pipelines) {
    this.#purges = purges
    this.#pipelines = pipelines
  }

  /** Keeps the last bytes of a chunk that Node's parser has read, so that it has reported the chunk before. */
  keep(socket: Socket, chunk: Buffer): void {
    // Nearly every chunk ends with a line break or the end of a body: no method begins there.
    if (!isCapital(chunk[chunk.length - 1]!)) this.#tails.delete(socket)
    else if (this.#purges().isPurger(socket.remoteAddress)) {
      // Copied: a slice would keep the whole chunk in memory.
      const bytes = Buffer.concat([this.#tails.get(socket) ?? nothing, chunk.subarray(-tailLength)])
      this.#tails.set(socket, bytes.subarray(-tailLength))
    }
  }

  /** Handles a parse error that is such a request, or the beginning of one; false for any other error. */
  take(error: ParseError, socket: Socket): boolean {
    const reading = this.#read(error, socket)
    if (reading === null) return false
    if (!this.#purges().isPurger(socket.remoteAddress)) {
      this.#pipelines.refuseBroken(socket, () => endWith(socket, renderAnswer(forbidden, true)))
      return true
    }
    // The rest arrives as a further error of the same parser.
    if (reading.kind === 'partial') return true
    this.#held.delete(socket)
    this.#pipelines.refuseBroken(socket, () => {
      socket.setTimeout(0)
      void this.#purges()
        .answer(reading.head, socket)
        .then((answer) => endWith(socket, renderAnswer(answer, true)))
    })
    return true
  }

  #read(error: ParseError, socket: Socket): Exclude<BanReading, { kind: 'other' }> | null {
    if (error.code !== 'HPE_INVALID_METHOD' || error.rawPacket === undefined) return null
    const held = this.#held.get(socket)
    const bytes =
      held === undefined
        ? beginningOf(this.#tails.get(socket) ?? nothing, error.rawPacket, error.bytesParsed ?? 0)
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

/** How many bytes of a method Node's parser reads before it fails: `B` of BIND, `PURGE`. */
const prefixLengths = [
  1, // BAN
  5, // PURGEKEYS
]

/**
 * The bytes from the start of the message that Node's parser could not parse; null where it is no purge.
 *
 * @param tail the last bytes before the chunk
 * @param parsed bytes of the chunk that the parser has read
 */
function beginningOf(tail: Buffer, chunk: Buffer, parsed: number): Buffer | null {
  for (const into of prefixLengths) {
    const missing = Math.max(0, into - parsed)
    if (missing > tail.length) continue
    const bytes = missing === 0 ? chunk : Buffer.concat([tail, chunk])
    const start = (missing === 0 ? parsed : tail.length + parsed) - into
    // Not `UNBAN`, which the parser took for UNBIND so far.
    const before = start > 0 ? bytes[start - 1]! : ((missing === 0 ? tail.at(-1) : undefined) ?? 0)
    if (isCapital(before)) continue
    if (readBan(bytes.subarray(start)).kind !== 'other') return bytes.subarray(start)
  }
  return null
}

function isCapital(byte: number): boolean {
  return byte >= 0x41 && byte <= 0x5a
}
