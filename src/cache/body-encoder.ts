import { Slab } from '../lib/buffers.ts'
import { Gate } from '../lib/gate.ts'
import {
  cheapEncodings,
  decode,
  decodeAtOnce,
  encode,
  encodeAtOnce,
  encodeCheaply,
  isCompressible,
  toEncoding,
  TooLarge,
  type CheapEncoding,
} from '../pages/codec.ts'
import type { Encoding } from '../pages/page.ts'
import { bestEncodings } from './accept-encoding.ts'
import type { BudgetShare } from './body.ts'
import { directivesOf } from './cache-control.ts'
import { fieldValue } from './fields.ts'
import type { Received } from './freshness.ts'
import { OriginError } from './origin.ts'
import type { HeldPage } from './view.ts'

/**
 * A response body in its stored coding and in identity. `known` is false when it keeps the origin's Content-Encoding, which is unsupported
 * or must not be changed; its bytes then count as identity.
 */
export interface EncodedBody {
  identity: Buffer
  /** The text of the body, where it differs from `identity`. */
  decoded?: Buffer
  encoding: Encoding
  known: boolean
  /** Whether the origin's entity tag is that of another representation: its body came in a coding, and `identity` is decoded. */
  foreignTag?: true
  bodies: HeldPage['bodies']
}

/** Why a body was not encoded: it exceeds the size limit or the memory budget. */
type EncodingRefusal = 'limit' | 'budget'

/** An error for a body that does not match its Content-Encoding. */
export type Encoded = EncodedBody | EncodingRefusal | OriginError

function encodedAs(plain: EncodedBody, encoding: Encoding, body: Buffer): EncodedBody {
  return { ...plain, encoding, bodies: { ...plain.bodies, [encoding]: body } }
}

/** A body that must keep the origin's coding. */
async function unchanged(plain: EncodedBody, decoded: Encoded | Promise<Encoded>): Promise<Encoded> {
  const result = await decoded
  return isEncoded(result) ? { ...plain, known: false, decoded: result.identity } : result
}

function decodedFrom(body: Buffer, encoding: Encoding, identity: Buffer): EncodedBody {
  return { identity, encoding, known: true, foreignTag: true, bodies: { identity, [encoding]: body } }
}

function isEncoded(encoded: Encoded): encoded is EncodedBody {
  return typeof encoded !== 'string' && !(encoded instanceof OriginError)
}

function toBroken(encoding: Encoding, error: unknown): OriginError {
  return new OriginError(`the origin sent an invalid ${encoding} body`, 'broken', error)
}

/** The coding of a body that a visitor waits for: the best one that is cheap and that the visitor accepts. */
export function cheapEncodingFor(acceptEncoding: string | null): CheapEncoding {
  const accepted = bestEncodings(acceptEncoding)
  return cheapEncodings.find((encoding) => accepted.includes(encoding)) ?? cheapEncodings[0]
}

/** Bytes. Several coded bodies share as many, and none of more than a quarter: a slow client may keep them for one. */
const slabSize = 32 * 1024
/** Bodies encoded or decoded at a time: the size of Node's thread pool. */
const atOnce = 4

/** Verifies the coding of an origin's body and encodes it for storage, within the fetch's share of the budget. */
export class BodyEncoder {
  readonly #gate = new Gate(atOnce)
  readonly #slab = new Slab(slabSize)
  readonly #options: { compression: boolean; maxPageSize: number }

  constructor(options: { compression: boolean; maxPageSize: number }) {
    this.#options = options
  }

  /** Gives memory for a coded body, which is copied where it is kept. */
  readonly allocate = (size: number): Buffer<ArrayBuffer> => this.#slab.next(size)

  /**
   * Small bodies are encoded at once, so that nothing is awaited.
   *
   * @param cheap the coding for a visitor who waits; null compresses thoroughly
   */
  encode(
    response: Received,
    body: Buffer,
    share: BudgetShare,
    cheap: CheapEncoding | null = null,
  ): Encoded | Promise<Encoded> {
    const received = toEncoding(fieldValue(response.headers, 'content-encoding'))
    const plain: EncodedBody = {
      identity: body,
      encoding: 'identity',
      known: received !== null,
      bodies: { identity: body },
    }
    if (received === null || body.length === 0) return plain
    const { noTransform } = directivesOf(response.headers)
    if (received !== 'identity') {
      const decoded =
        this.#decodeAtOnce(body, received, share) ?? this.#gate.pass(() => this.#decode(body, received, share))
      return noTransform ? unchanged(plain, decoded) : decoded
    }
    const worthIt = isCompressible(fieldValue(response.headers, 'content-type'), body.length) && !noTransform
    if (!this.#options.compression || !worthIt || response.status === 206) return plain
    // The encoded body is at most as large as the original.
    if (!share.take(body.length)) return 'budget'
    const small = cheap === null ? null : encodeAtOnce(body, cheap, this.allocate)
    if (cheap !== null && small !== null) return encodedAs(plain, cheap, small)
    return this.#gate.pass(async () => {
      const encoding = cheap ?? 'br'
      return encodedAs(plain, encoding, await (cheap === null ? encode(body, 'br') : encodeCheaply(body, cheap)))
    })
  }

  /** Null when it has to be decoded in another thread. */
  #decodeAtOnce(body: Buffer, encoding: Encoding, share: BudgetShare): Encoded | null {
    try {
      const identity = decodeAtOnce(body, encoding, this.#options.maxPageSize)
      if (identity === null) return null
      return share.take(identity.length) ? decodedFrom(body, encoding, identity) : 'budget'
    } catch (error) {
      return toBroken(encoding, error)
    }
  }

  async #decode(body: Buffer, encoding: Encoding, share: BudgetShare): Promise<Encoded> {
    let fits = true
    try {
      const identity = await decode(body, encoding, this.#options.maxPageSize, (bytes) => (fits = share.take(bytes)))
      return decodedFrom(body, encoding, identity)
    } catch (error) {
      if (error instanceof TooLarge) return fits ? 'limit' : 'budget'
      return toBroken(encoding, error)
    }
  }
}
