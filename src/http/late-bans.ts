import type { Socket } from 'node:net'
import { renderAnswer } from './ban-connection.ts'
import { readBan, type BanReading } from './ban-request.ts'
import type { Pipelines } from './pipelines.ts'
import type { PurgeMethods } from './purge-methods.ts'
import { endWith, refuse } from './refuse.ts'

/** What Node's parser tells of bytes that it cannot read. */
type ParseError = NodeJS.ErrnoException & { bytesParsed?: number; rawPacket?: Buffer }

/**
 * The same for connections that are Node's already: its parser refuses the method and hands over the bytes. The answer is the last on
 * the connection, since that parser cannot go on.
 */
export class LateBans {
  readonly #purges: () => PurgeMethods
  readonly #pipelines: Pipelines
  readonly #held = new WeakMap<Socket, Buffer>()

  constructor(purges: () => PurgeMethods, pipelines: Pipelines) {
    this.#purges = purges
    this.#pipelines = pipelines
  }

  /** True where a parse error is such a request, or the beginning of one, and is taken care of. */
  take(error: ParseError, socket: Socket): boolean {
    const reading = this.#read(error, socket)
    if (reading === null) return false
    if (!this.#purges().isPurger(socket.remoteAddress)) {
      this.#pipelines.refuseBroken(socket, () => refuse(socket, 403, 'Purging is not allowed from this address.'))
      return true
    }
    // The rest of it comes as a further error of the same parser.
    if (reading.kind === 'partial') return true
    this.#held.delete(socket)
    this.#pipelines.refuseBroken(socket, () => {
      socket.setTimeout(0)
      void this.#purges().answer(reading.head, socket.remoteAddress).then(answer => endWith(socket, renderAnswer(answer, true)))
    })
    return true
  }

  #read(error: ParseError, socket: Socket): Exclude<BanReading, { kind: 'other' }> | null {
    if (error.code !== 'HPE_INVALID_METHOD' || error.rawPacket === undefined) return null
    const held = this.#held.get(socket)
    const bytes = held === undefined ? beginningOf(error.rawPacket, error.bytesParsed ?? 0) : Buffer.concat([held, error.rawPacket])
    const reading: BanReading = bytes === null ? { kind: 'other' } : readBan(bytes)
    if (reading.kind === 'other') {
      this.#held.delete(socket)
      return null
    }
    this.#held.set(socket, bytes!)
    return reading
  }
}

/** How far into a method Node's parser gets before it knows that it is none of its own: `BIND`, `PURGE`. */
const readable = [
  { method: 'BAN ', parsed: 1 },
  { method: 'PURGEKEYS ', parsed: 5 },
]

/** The bytes from the beginning of the message that could not be parsed on; null where it is no purge. */
function beginningOf(packet: Buffer, parsed: number): Buffer | null {
  for (const { method, parsed: into } of readable) {
    const start = parsed - into
    // `UNBAN`: the parser was on its way to UNBIND.
    const within = start > 0 && packet[start - 1]! >= 0x41 && packet[start - 1]! <= 0x5a
    if (start >= 0 && !within && packet.toString('latin1', start, start + method.length) === method) return packet.subarray(start)
  }
  return null
}
