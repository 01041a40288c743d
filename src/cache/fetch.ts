import type { SharedPage } from '../cluster/shared/value.ts'
import { Turns } from '../lib/turns.ts'
import type { Fence } from '../pages/page-store.ts'
import { Budget } from './body.ts'
import { BodyEncoder } from './body-encoder.ts'
import type { FetchOptions, FetchTerms } from './fetch-options.ts'
import type { Fetched } from './fetched.ts'
import { Keeper } from './keeper.ts'
import type { Lookup } from './lookup.ts'
import { PageFetch, type FetchTools } from './page-fetch.ts'
import { PageMaker } from './page-maker.ts'
import { Parts } from './parts.ts'
import { ShopCoding } from './shop-coding.ts'
import type { HeldPage } from './view.ts'

/**
 * The budget for bodies that are read, decoded and encoded, in pages of maximum size. Beyond it pages are streamed and
 * not stored.
 */
const atOnce = 4

/** Fetches pages from the origin and stores them if allowed. Every page enters the cache through this class. */
export class Fetcher {
  readonly #tools: FetchTools
  readonly #keeper: Keeper

  /** @param isQuiet see `HotPath` */
  constructor(options: FetchOptions, isQuiet: () => boolean) {
    this.#keeper = new Keeper(options)
    const shared = {
      options,
      turns: new Turns(isQuiet),
      parts: new Parts(options.store, options.now),
    }
    const encoder = new BodyEncoder(options)
    this.#tools = {
      ...shared,
      coding: new ShopCoding(options),
      allocate: encoder.allocate,
      maker: new PageMaker({ ...shared, encoder, keeper: this.#keeper }),
      budget: new Budget(options.maxPageSize * atOnce),
    }
  }

  /**
   * @param stale a stored page to be validated; null for none
   * @throws OriginError when the origin gives no complete, valid response
   */
  fetch(lookup: Lookup, stale: HeldPage | null, terms: FetchTerms): Promise<Fetched> {
    const { parts, options } = this.#tools
    const part = stale === null ? parts.find(lookup) : null
    const mayHaveMarkup = options.esi === 'auto'
    return new PageFetch(this.#tools, lookup, { ...terms, stale, part, mayHaveMarkup, mayBeCoded: true }).run()
  }

  /** Takes a page that another node has fetched; null when a purge has selected it meanwhile. */
  adopt(lookup: Lookup, page: SharedPage, fence: Fence, patient: boolean): Promise<Fetched | null> {
    return this.#keeper.adopt(lookup, page, fence, patient)
  }
}
