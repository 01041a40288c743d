import type { Clock } from '../lib/clock.ts'
import { bestEncodings } from './accept-encoding.ts'
import type { Lookup } from './lookup.ts'

/** How long a shop is asked for pages without coding, in milliseconds. */
const plainFor = 3_600_000

/** In which coding the shop is asked for pages (docs/decisions/0164-pages-in-gzip.md). */
export class ShopCoding {
  readonly #compression: boolean
  readonly #now: Clock
  /** Origins that have sent a compressed page that cannot be decoded or must not be, and until when they are asked for none. */
  readonly #plain = new Map<string, number>()

  constructor({ compression, now }: { compression: boolean; now: Clock }) {
    this.#compression = compression
    this.#now = now
  }

  /** Gzip for a visitor who accepts it: a page that is not stored is passed on as it comes. Entity tags of assets remain strong. */
  of({ channel, isAsset, field }: Lookup): 'gzip' | 'identity' {
    if (!this.#compression || isAsset || (this.#plain.get(channel.origin) ?? 0) > this.#now()) return 'identity'
    return bestEncodings(field('accept-encoding')).includes('gzip') ? 'gzip' : 'identity'
  }

  /** Asks an origin for pages without coding for a while. */
  askPlainly(origin: string): void {
    this.#plain.set(origin, this.#now() + plainFor)
  }
}
