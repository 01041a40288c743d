import { Readable } from 'node:stream'
import type { Turns } from '../lib/turns.ts'
import type { HeaderPair } from '../pages/page.ts'
import { BudgetShare, collect, discard, type Budget, type Collected } from './body.ts'
import type { BodyEncoder } from './body-encoder.ts'
import { isStrong } from './conditional.ts'
import { capability } from './esi/response.ts'
import type { FetchOptions, FetchTerms, OriginFetch } from './fetch-options.ts'
import { assertWanted, conditionOf, instead, otherHead, overflow, passedOn, type Fetched } from './fetched.ts'
import { fieldValue, hasField } from './fields.ts'
import { storableHeaders, withAuthorization, type Outgoing, type Sent } from './forward.ts'
import type { Received } from './freshness.ts'
import { judge, type Judged } from './judged.ts'
import type { Lookup } from './lookup.ts'
import { isUnread } from './may-store.ts'
import { toOriginError, type OriginReply, type OriginResponse } from './origin.ts'
import type { CollectTerms } from './origin/collected-body.ts'
import type { ResponseHead } from './origin/exchange.ts'
import type { PageMaker } from './page-maker.ts'
import { selection, type Part, type Parts } from './parts.ts'
import type { ShopCoding } from './shop-coding.ts'
import { confirms, describes } from './validation.ts'
import type { HeldPage } from './view.ts'

/** What all fetches share. */
export interface FetchTools {
  options: FetchOptions
  budget: Budget
  turns: Turns
  parts: Parts
  coding: ShopCoding
  allocate: BodyEncoder['allocate']
  maker: PageMaker
}

interface PageFetchTerms extends FetchTerms {
  /** A stored page to be validated. */
  stale: HeldPage | null
  /** A stored part of the page, of which only the rest is requested. */
  part: Part | null
  /** Whether the shop is told that it may send ESI markup. */
  mayHaveMarkup: boolean
  /** Whether it may be asked for a content coding. */
  mayBeCoded: boolean
}

/** Requests a page from the shop once, and makes a page of the response. */
export class PageFetch {
  readonly #tools: FetchTools
  readonly #terms: PageFetchTerms
  readonly #asked: Lookup
  readonly #isHead: boolean
  /** The coding that the shop is asked for. */
  readonly #coding: 'gzip' | 'identity'
  readonly #share: BudgetShare
  readonly #started = performance.now()
  readonly #requestedAt: number
  #receivedAt = 0
  #context: OriginFetch | null = null
  #judged: Judged | null = null

  constructor(tools: FetchTools, lookup: Lookup, terms: PageFetchTerms) {
    this.#tools = tools
    this.#terms = terms
    this.#asked = lookup
    // A HEAD can validate a page that we hold; a HEAD of anything else is passed through.
    this.#isHead = lookup.visit.method === 'HEAD' && terms.stale !== null
    this.#coding = isUncoded(lookup, terms) ? 'identity' : tools.coding.of(lookup)
    this.#share = new BudgetShare(tools.budget)
    this.#requestedAt = tools.options.now()
  }

  /** @throws OriginError when the origin gives no complete, valid response */
  async run(): Promise<Fetched> {
    const { turns, options } = this.#tools
    const outgoing = this.#outgoing()
    const clock = options.shared?.clock() ?? null
    let reply: OriginReply<Readable | Collected> | null = null
    try {
      if (turns.isBusy) await turns.next()
      reply = await this.#send(outgoing.headers, (head) => {
        this.#context = this.#toContext(head, outgoing, clock)
        return this.#termsFor(head)
      })
      return await this.#use(reply, this.#context!)
    } catch (error) {
      throw toOriginError(error, reply !== null)
    } finally {
      reply?.extend()
    }
  }

  /** The fields for the shop. Requests with the same fields on the same connection share them. */
  #outgoing(): Outgoing {
    const { visit, channel, cookies, remembered } = this.#asked
    return remembered.of('outgoing', [visit.headers, visit.remoteAddress, visit.forwardedFor, channel, cookies], () =>
      storableHeaders(visit, channel, cookies),
    )
  }

  /** Fetches the page again in another way. */
  #again(terms: Partial<PageFetchTerms>): Promise<Fetched> {
    return new PageFetch(this.#tools, this.#asked, { ...this.#terms, stale: null, part: null, ...terms }).run()
  }

  #send(
    headers: readonly HeaderPair[],
    onHead: (head: ResponseHead) => CollectTerms | null,
  ): Promise<OriginReply<Readable | Collected>> {
    const { origin } = this.#tools.options
    const { stale, part, mayHaveMarkup, warming, waiters } = this.#terms
    const coding = this.#coding
    const { channel, target, visit, remembered } = this.#asked
    const extra = this.#isHead ? [] : selection(this.#asked, stale, part)
    const all = () => {
      const markup = mayHaveMarkup ? [capability] : []
      return withAuthorization([...headers, ...extra, ...markup, ['accept-encoding', coding]], channel)
    }
    const isPlain = extra.length === 0
    const request = {
      origin: channel.origin,
      method: this.#isHead ? 'HEAD' : 'GET',
      target: `${target.path}${target.query}`,
      headers: isPlain ? remembered.of('all fields', [headers, mayHaveMarkup, coding], all) : all(),
      body: null,
      signal: warming?.signal ?? null,
      waiters,
      slot: warming?.slot ?? null,
      limit: origin.totalTimeout,
      onInterim: visit.onInterim,
      ...(isPlain && { memo: remembered }),
    }
    return origin.collect(request, onHead)
  }

  #toContext(head: ResponseHead, { sent, addresses }: Sent, clock: OriginFetch['clock']): OriginFetch {
    const { fence, warming, outlasts, mayHaveMarkup, stale, part } = this.#terms
    const condition = this.#isHead || stale !== null || part !== null ? [] : conditionOf(this.#asked, head)
    this.#receivedAt = this.#tools.options.now()
    return {
      lookup: this.#confirmed(head),
      sent: condition.length === 0 ? sent : [...sent, ...condition],
      addresses,
      fence,
      clock,
      started: this.#started,
      patient: warming !== undefined,
      outlasts,
      withoutMarkup: mayHaveMarkup ? () => this.#again({ mayHaveMarkup: false }) : null,
      withoutCoding: this.#coding === 'gzip' ? () => this.#withoutCoding() : null,
    }
  }

  /** Asks the shop plainly from now on, if that helps. */
  async #withoutCoding(): Promise<Fetched> {
    const fetched = await this.#again({ mayBeCoded: false })
    const headers = fetched.kind === 'held' ? fetched.live : fetched.headers
    if (!hasField(headers, 'content-encoding')) this.#tools.coding.askPlainly(this.#asked.channel.origin)
    return fetched
  }

  /** The lookup with the shared key when the response confirms the visitor's variant. */
  #confirmed({ headers }: ResponseHead): Lookup {
    const { confirmations } = this.#tools.options
    const lookup = this.#asked
    if (lookup.isAsset) return lookup
    confirmations.learn(lookup.visitor, headers)
    return confirmations.confirmedBy(lookup.visitor, headers) ? { ...lookup, key: lookup.sharedKey } : lookup
  }

  /** How the body of a whole page is collected; null for any other response, whose body is a stream. */
  #termsFor(head: ResponseHead): CollectTerms | null {
    if (this.#isHead || this.#terms.part !== null || head.status === 304) return null
    this.#judged = judge(this.#tools.options, this.#context!, head)
    const { limit } = this.#judged
    if (limit === null) return null
    const { allocate } = this.#tools
    const isCoded = this.#coding === 'gzip' && hasField(head.headers, 'content-encoding')
    return { limit, share: this.#share, ...(isCoded && { allocate }) }
  }

  async #use(reply: OriginReply<Readable | Collected>, context: OriginFetch): Promise<Fetched> {
    const { stale, part } = this.#terms
    const { maker } = this.#tools
    const received = { ...reply, requestedAt: this.#requestedAt, receivedAt: this.#receivedAt }
    const { body } = reply
    if (!(body instanceof Readable)) return maker.finish(context, received, this.#judged!, body, this.#share)
    const response = { ...received, body }
    if (part !== null) {
      const completed = await this.#tools.parts.complete(part, response, new BudgetShare(this.#tools.budget))
      return completed === null
        ? instead(body, () => this.#again({}))
        : this.#store(context, { ...response, ...completed })
    }
    if (this.#isHead && !describes(stale!.page, response)) return passedOn(response, otherHead)
    if (!this.#isHead && (response.status !== 304 || stale === null)) return this.#store(context, response)
    if (!this.#isHead && !confirms(stale!.page, response)) return instead(body, () => this.#again({}))
    discard(body)
    return maker.freshen(context, stale!, response)
  }

  /** Collects the body of a response that came as a stream, or passes it on. */
  async #store(context: OriginFetch, response: Received & OriginResponse): Promise<Fetched> {
    assertWanted(response)
    const { body } = response
    const judged = (this.#judged ??= judge(this.#tools.options, context, response))
    const { notStored, withoutMarkup, limit } = judged
    if (limit !== null) {
      const collected = await collect(body, limit, this.#share)
      return this.#tools.maker.finish(context, response, judged, collected, this.#share)
    }
    const { withoutCoding } = context
    if (withoutCoding !== null && isUnread(response.headers)) return instead(body, withoutCoding)
    if (withoutMarkup !== null) return instead(body, withoutMarkup)
    return passedOn(response, notStored ?? overflow.limit)
  }
}

/** Ranges, and strong entity tags of stored pages, are those of the page without coding. A warmup compresses thoroughly. */
function isUncoded(lookup: Lookup, { stale, part, warming, mayBeCoded }: PageFetchTerms): boolean {
  if (!mayBeCoded || warming !== undefined || part !== null) return true
  return stale === null ? lookup.field('range') !== null : isStrong(fieldValue(stale.page.headers, 'etag') ?? '')
}
