import { Gate } from '../lib/gate.ts'
import { decode, encode, isCompressible, toEncoding, TooLarge } from '../pages/codec.ts'
import type { Encoding } from '../pages/page.ts'
import type { Share } from './body.ts'
import { directivesOf } from './cache-control.ts'
import { fieldValue } from './fields.ts'
import type { Received } from './freshness.ts'
import { OriginError } from './origin.ts'
import type { Held } from './view.ts'

/** A body in the coding in which it is to be stored, and without any. `known`: whether the coding that the origin named is one of ours. */
export interface Coded {
  identity: Buffer
  encoding: Encoding
  known: boolean
  bodies: Held['bodies']
}

/** Why a body is not coded: it grows too large, or other bodies take the memory. */
export type Uncoded = 'limit' | 'budget'

/** Bodies that are decoded or coded at a time: as many as Node has threads for them. */
const atOnce = 4

/** Checks the coding of what a shop sends and chooses the one to be stored, within the fetch's share of the budget. */
export class Coder {
  readonly #gate = new Gate(atOnce)
  readonly #options: { compression: boolean; maxPageSize: number }

  constructor(options: { compression: boolean; maxPageSize: number }) {
    this.#options = options
  }

  /** @throws OriginError when the body is not in the coding that it is said to be in */
  code(response: Received, body: Buffer, share: Share): Promise<Coded | Uncoded> {
    return this.#gate.pass(() => this.#code(response, body, share))
  }

  async #code(response: Received, body: Buffer, share: Share): Promise<Coded | Uncoded> {
    const received = toEncoding(fieldValue(response.headers, 'content-encoding'))
    const plain: Coded = { identity: body, encoding: 'identity', known: received !== null, bodies: { identity: body } }
    if (received === null || body.length === 0) return plain
    if (received !== 'identity') return this.#decode(body, received, share)
    const worthIt =
      isCompressible(fieldValue(response.headers, 'content-type'), body.length) &&
      !directivesOf(response.headers).noTransform
    if (!this.#options.compression || !worthIt || response.status === 206) return plain
    // Coded, it takes no more than it did before.
    if (!share.take(body.length)) return 'budget'
    return { ...plain, encoding: 'br', bodies: { identity: body, br: await encode(body, 'br') } }
  }

  async #decode(body: Buffer, encoding: Encoding, share: Share): Promise<Coded | Uncoded> {
    let fits = true
    try {
      const identity = await decode(body, encoding, this.#options.maxPageSize, (bytes) => (fits = share.take(bytes)))
      return { identity, encoding, known: true, bodies: { identity, [encoding]: body } }
    } catch (error) {
      if (error instanceof TooLarge) return fits ? 'limit' : 'budget'
      throw new OriginError(`the origin sent a broken ${encoding} body`, 'broken', error)
    }
  }
}
