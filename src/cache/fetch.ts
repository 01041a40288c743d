import type { Readable } from 'node:stream'
import type { SharedPage } from '../cluster/shared/value.ts'
import { free } from '../lib/buffers.ts'
import { Turns } from '../lib/turns.ts'
import type { HeaderPair, PageDraft } from '../pages/page.ts'
import type { Fence } from '../pages/page-store.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import { Budget, collect, discard, passing, BudgetShare } from './body.ts'
import { BodyEncoder, cheapEncodingFor, type EncodedBody } from './body-encoder.ts'
import { variantMismatch } from './confirmations.ts'
import { freshenedDraft, freshenedHeaders, toDraft } from './draft.ts'
import { capability, hasMarkup } from './esi/response.ts'
import type { FetchOptions, FetchTerms, OriginFetch, Warming } from './fetch-options.ts'
import {
  assertWanted,
  emptyBody,
  errorReason,
  instead,
  overflow,
  overlongReason,
  partialReason,
  passedOn,
  reflectionReason,
  unstored,
  withWeakTag,
  type Fetched,
} from './fetched.ts'
import { fieldValue, withoutFields } from './fields.ts'
import { storableHeaders, visibleHeaders, withAuthorization } from './forward.ts'
import type { Received } from './freshness.ts'
import { Keeper } from './keeper.ts'
import { reasonAgainst } from './probe.ts'
import { reasonNotToStore } from './may-store.ts'
import { searchMismatch } from './no-vary-search.ts'
import { toOriginError, type OriginResponse } from './origin.ts'
import type { Lookup } from './lookup.ts'
import { parseContentRange } from './range.ts'
import { Parts, selection, type Part } from './parts.ts'
import { setCookieFields } from './set-cookie.ts'
import { confirms, describes } from './validation.ts'
import { storedAs, toHeldPage, type HeldPage } from './view.ts'

/**
 * The budget for bodies that are read, decoded and encoded, in pages of maximum size. Beyond it pages are streamed and
 * not stored.
 */
const atOnce = 4
/** The most that is read of a body without Content-Length, in bytes. A larger one is a download or never ends. */
const largestUnannounced = 1024 * 1024

/** Fetches pages from the origin and stores them if allowed. Every page enters the cache through this class. */
export class Fetcher {
  readonly #options: FetchOptions
  readonly #budget: Budget
  readonly #encoder: BodyEncoder
  /** Hits need not wait for the misses of a turn. */
  readonly #turns = new Turns()
  readonly #parts: Parts
  readonly #keeper: Keeper

  constructor(options: FetchOptions) {
    this.#options = options
    this.#budget = new Budget(options.maxPageSize * atOnce)
    this.#encoder = new BodyEncoder(options)
    this.#parts = new Parts(options.store, options.now)
    this.#keeper = new Keeper(options)
  }

  /**
   * @param stale a stored page to be validated; null for none
   * @throws OriginError when the origin gives no complete, valid response
   */
  fetch(lookup: Lookup, stale: HeldPage | null, terms: FetchTerms): Promise<Fetched> {
    const part = stale === null ? this.#parts.find(lookup) : null
    return this.#fetch(lookup, stale, terms, this.#options.esi === 'auto', part)
  }

  /** Takes a page that another node has fetched; null when a purge has selected it meanwhile. */
  adopt(lookup: Lookup, page: SharedPage, fence: Fence, patient: boolean): Promise<Fetched | null> {
    return this.#keeper.adopt(lookup, page, fence, patient)
  }

  async #fetch(
    lookup: Lookup,
    stale: HeldPage | null,
    terms: FetchTerms,
    mayHaveMarkup: boolean,
    part: Part | null = null,
  ): Promise<Fetched> {
    const { fence, warming, outlasts } = terms
    const { now, shared } = this.#options
    const { headers, sent } = storableHeaders(lookup.visit, lookup.channel, lookup.cookies)
    // A HEAD can validate a page that we hold; a HEAD of anything else is passed through.
    const head = lookup.visit.method === 'HEAD' && stale !== null
    const extra = head ? [] : selection(lookup, stale, part)
    if (mayHaveMarkup) extra.push(capability)
    const requestedAt = now()
    const clock = shared?.clock() ?? null
    let response: OriginResponse | null = null
    const started = performance.now()
    try {
      if (this.#turns.isBusy) await this.#turns.next()
      response = await this.#send(lookup, head ? 'HEAD' : 'GET', [...headers, ...extra], warming)
      const whole = () => this.#fetch(lookup, null, terms, mayHaveMarkup)
      const completed =
        part === null ? response : await this.#parts.complete(part, response, new BudgetShare(this.#budget))
      if (completed === null) return await instead(response.body, whole)
      const received = { ...completed, requestedAt, receivedAt: now() }
      const context: OriginFetch = {
        lookup: this.#confirmed(lookup, response),
        sent,
        fence,
        clock,
        started,
        patient: warming !== undefined,
        outlasts,
        withoutMarkup: mayHaveMarkup ? () => this.#fetch(lookup, null, terms, false) : null,
      }
      if (head && !describes(stale.page, response))
        return passedOn(received, 'a HEAD response without a matching validator')
      if (!head && (response.status !== 304 || stale === null)) return await this.#store(context, received)
      if (!head && !confirms(stale!.page, response)) return await instead(response.body, whole)
      discard(response.body)
      return await this.#freshen(context, stale!, received)
    } catch (error) {
      throw toOriginError(error, response !== null)
    } finally {
      response?.extend()
    }
  }

  #send(lookup: Lookup, method: string, headers: readonly HeaderPair[], warming?: Warming): Promise<OriginResponse> {
    const { origin } = this.#options
    return origin.send({
      origin: lookup.channel.origin,
      method,
      target: `${lookup.target.path}${lookup.target.query}`,
      headers: withAuthorization([...headers, ['accept-encoding', 'identity']], lookup.channel),
      body: null,
      signal: warming?.signal ?? null,
      slot: warming?.slot ?? null,
      limit: origin.totalTimeout,
      onInterim: lookup.visit.onInterim,
    })
  }

  /** The lookup with the shared key when the response confirms the visitor's variant. */
  #confirmed(lookup: Lookup, { headers }: OriginResponse): Lookup {
    const { confirmations } = this.#options
    if (lookup.isAsset) return lookup
    confirmations.learn(lookup.visitor, headers)
    return confirmations.confirmedBy(lookup.visitor, headers) ? { ...lookup, key: lookup.sharedKey } : lookup
  }

  async #freshen(context: OriginFetch, stale: HeldPage, response: Received): Promise<Fetched> {
    const { lookup, sent, fence } = context
    const headers = freshenedHeaders(stale.page, response)
    const draft = freshenedDraft(stale.page, headers, lookup, response, this.#options)
    const forbidden =
      searchMismatch(lookup.search, headers) ??
      variantMismatch(lookup.variantCookies, response.headers, this.#options.now()) ??
      reasonNotToStore(lookup, draft.status, headers, this.#options.defaultTtl) ??
      reflectionReason(lookup, sent, response, emptyBody)
    const page = forbidden ?? (await this.#keeper.freshen(stale, draft, context))
    const held =
      typeof page === 'string'
        ? toHeldPage(unstored(draft, stale.page.size), stale.bodies, storedAs(stale) ?? undefined)
        : this.#keeper.remember(page, stale.bodies, lookup, fence)
    return {
      kind: 'held',
      held,
      status: response.status,
      notStored: typeof page === 'string' ? page : null,
      shareable: forbidden === null,
      live: [...headers, ...setCookieFields(response.headers)],
    }
  }

  async #store(context: OriginFetch, response: Received & OriginResponse): Promise<Fetched> {
    const { lookup } = context
    const { maxPageSize } = this.#options
    assertWanted(response)
    const range = response.status === 206 ? parseContentRange(fieldValue(response.headers, 'content-range')) : null
    const notStored =
      reasonAgainst(this.#options, lookup, response.status, response.headers) ??
      errorReason(response, context.outlasts) ??
      partialReason(response, range)
    // Markup must not reach the visitor. What cannot be assembled is requested as a page without it.
    const withoutMarkup = hasMarkup(response.headers) ? context.withoutMarkup : null
    if (withoutMarkup !== null && response.status === 206) return instead(response.body, withoutMarkup)
    if (notStored !== null && withoutMarkup === null) return passedOn(response, notStored)
    const tooLarge = (body: Readable, why: string) =>
      withoutMarkup === null ? passedOn({ ...response, body }, why) : instead(body, withoutMarkup)
    const announced = fieldValue(response.headers, 'content-length')
    if (Number(announced ?? 0) > maxPageSize) return tooLarge(response.body, overflow.limit)
    const limit = announced === null ? Math.min(maxPageSize, largestUnannounced) : maxPageSize
    const share = new BudgetShare(this.#budget)
    const collected = await collect(response.body, limit, share)
    // Checking and compressing it takes longest.
    await this.#turns.next()
    if (collected.kind === 'overflow')
      return tooLarge(collected.stream, overflow[limit === maxPageSize ? collected.over : 'unannounced'])
    const passOn = (why: string) => passedOn({ ...response, body: passing(collected.body, share) }, why)
    let passed = false
    try {
      const contradicts = range !== null && collected.body.length !== range.end - range.start + 1
      const encoded = contradicts
        ? 'contradicts'
        : await this.#encoder.encode(
            response,
            collected.body,
            share,
            context.patient ? null : cheapEncodingFor(lookup.field('accept-encoding')),
          )
      if (withoutMarkup !== null && (typeof encoded === 'string' || !encoded.known)) return await withoutMarkup()
      const fetched =
        typeof encoded === 'string'
          ? passOn(overflow[encoded])
          : await this.#take(context, response, encoded, passOn, {
              range,
              notStored: notStored ?? overlongReason(response),
              isTemplate: withoutMarkup !== null,
            })
      passed = fetched.kind === 'stream'
      return fetched
    } finally {
      if (!passed) share.release()
    }
  }

  /** Stores a whole page if allowed. `passOn` builds the result for a large page that was not stored. */
  async #take(
    context: OriginFetch,
    received: Received,
    encoded: EncodedBody,
    passOn: (why: string) => Fetched,
    {
      range,
      notStored: forbidden,
      isTemplate,
    }: { range: PageDraft['range']; notStored: string | null; isTemplate: boolean },
  ): Promise<Fetched> {
    const { lookup, sent, fence, started } = context
    const { memory } = this.#options
    const response = encoded.foreignTag ? withWeakTag(received) : received
    const reflected = forbidden ?? reflectionReason(lookup, sent, response, encoded.decoded ?? encoded.identity)
    const content = {
      encoding: encoded.encoding,
      originalSize: encoded.identity.length,
      generationMs: performance.now() - started,
      range,
      ...(isTemplate && { fragments: await this.#options.fragmentsOf(lookup, encoded.identity) }),
    }
    const draft = toDraft(lookup, response, encoded.known, content, this.#options)
    const stored = encoded.bodies[encoded.encoding]!
    this.#parts.note(draft)
    const page = reflected ?? (await this.#keeper.keep(draft, stored, context))
    const notStored = typeof page === 'string' ? page : null
    const mayWait = reflected === null ? memory.takes(encoded.identity.length) : encoded.identity.length <= pieceSize
    if (notStored !== null && !mayWait && !isTemplate) return passOn(notStored)
    const held =
      typeof page === 'string'
        ? toHeldPage(unstored(draft, stored.length), encoded.bodies)
        : this.#keeper.remember(page, encoded.bodies, lookup, fence)
    // No visitor gets a response in this coding, but the parts of a template refer to it.
    if (notStored === null && encoded.encoding !== 'identity' && held.bodies.identity === undefined && !isTemplate)
      free(encoded.identity)
    return {
      kind: 'held',
      held,
      status: response.status,
      notStored,
      shareable: reflected === null,
      live: withoutFields(
        visibleHeaders(response),
        new Set(['age', 'content-length', ...(encoded.known ? ['content-encoding'] : [])]),
      ),
    }
  }
}
