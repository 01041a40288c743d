import { compact, free } from '../lib/buffers.ts'
import type { Turns } from '../lib/turns.ts'
import type { PageDraft } from '../pages/page.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import { passing, type BudgetShare, type Collected } from './body.ts'
import { cheapEncodingFor, type BodyEncoder, type Encoded, type EncodedBody } from './body-encoder.ts'
import { variantMismatch } from './confirmations.ts'
import { freshenedDraft, freshenedHeaders, toDraft } from './draft.ts'
import type { FetchOptions, OriginFetch } from './fetch-options.ts'
import {
  emptyBody,
  instead,
  overflow,
  overlongReason,
  passedOn,
  reflectionReason,
  unstored,
  withWeakTag,
  type Fetched,
} from './fetched.ts'
import { FieldNames, withoutFields } from './fields.ts'
import { visibleHeaders } from './forward.ts'
import type { Received } from './freshness.ts'
import type { Judged } from './judged.ts'
import type { Keeper } from './keeper.ts'
import { reasonNotToStore } from './may-store.ts'
import { searchMismatch } from './no-vary-search.ts'
import { OriginError, type OriginReply } from './origin.ts'
import type { Parts } from './parts.ts'
import { setCookieFields } from './set-cookie.ts'
import { storedAs, toHeldPage, type HeldPage } from './view.ts'

/** Fields that are written anew for each visitor. */
const resentInCoding = new FieldNames(['age', 'content-length'])
const resent = new FieldNames([...resentInCoding, 'content-encoding'])

/** What all fetches share. */
interface MakerTools {
  options: FetchOptions
  encoder: BodyEncoder
  /** Hits need not wait for the misses of a turn. */
  turns: Turns
  parts: Parts
  keeper: Keeper
}

/** Makes pages of responses, and stores them if allowed. */
export class PageMaker {
  readonly #tools: MakerTools

  constructor(tools: MakerTools) {
    this.#tools = tools
  }

  /** Renews a stored page that the shop has confirmed. */
  async freshen(context: OriginFetch, stale: HeldPage, response: Received): Promise<Fetched> {
    const { options, keeper } = this.#tools
    const { lookup, fence } = context
    const headers = freshenedHeaders(stale.page, response)
    const draft = freshenedDraft(stale.page, headers, lookup, response, options)
    const forbidden =
      searchMismatch(lookup.search, headers) ??
      variantMismatch(lookup.variantCookies, response.headers, options.now()) ??
      reasonNotToStore(lookup, draft.status, headers, options.defaultTtl) ??
      reflectionReason(context, response, emptyBody)
    const page = forbidden ?? (await keeper.freshen(stale, draft, context))
    const held =
      typeof page === 'string'
        ? toHeldPage(unstored(draft, stale.page.size), stale.bodies, storedAs(stale) ?? undefined)
        : keeper.remember(page, stale.bodies, lookup, fence)
    return {
      kind: 'held',
      held,
      status: response.status,
      notStored: typeof page === 'string' ? page : null,
      shareable: forbidden === null,
      live: [...headers, ...setCookieFields(response.headers)],
    }
  }

  /** Makes a page of a body that was read, if it is whole. */
  async finish(
    context: OriginFetch,
    response: Received & OriginReply<unknown>,
    judged: Judged,
    collected: Collected,
    share: BudgetShare,
  ): Promise<Fetched> {
    const { turns, encoder, options } = this.#tools
    const { range, notStored, withoutMarkup, limit } = judged
    // Checking and compressing it takes longest.
    await turns.next()
    if (collected.kind === 'overflow') {
      if (withoutMarkup !== null) return instead(collected.stream, withoutMarkup)
      const why = overflow[limit === options.maxPageSize ? collected.over : 'unannounced']
      return passedOn({ ...response, body: collected.stream }, why)
    }
    const { body } = collected
    const passOn = (why: string) => passedOn({ ...response, body: passing(compact(body), share) }, why)
    let passed = false
    try {
      const contradicts = range !== null && body.length !== range.end - range.start + 1
      const cheap = context.patient ? null : cheapEncodingFor(context.lookup.field('accept-encoding'))
      const encoded = contradicts ? 'contradicts' : await encoder.encode(response, body, share, cheap)
      if (context.withoutCoding !== null && mustStayCoded(encoded)) {
        share.release()
        return await context.withoutCoding()
      }
      if (encoded instanceof OriginError) throw encoded
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
    const { lookup, fence, started } = context
    const { options, keeper, parts } = this.#tools
    const { memory } = options
    const response = encoded.foreignTag ? withWeakTag(received) : received
    const reflected = forbidden ?? reflectionReason(context, response, encoded.decoded ?? encoded.identity)
    const visible = visibleHeaders(response)
    const content = {
      encoding: encoded.encoding,
      originalSize: encoded.identity.length,
      generationMs: performance.now() - started,
      range,
      ...(isTemplate && { fragments: await options.fragmentsOf(lookup, encoded.identity) }),
    }
    const draft = toDraft(lookup, response, visible, encoded.known, content, options)
    const stored = encoded.bodies[encoded.encoding]!
    parts.note(draft)
    const page = reflected ?? (await keeper.keep(draft, stored, context))
    const notStored = typeof page === 'string' ? page : null
    const mayWait = reflected === null ? memory.takes(encoded.identity.length) : encoded.identity.length <= pieceSize
    if (notStored !== null && !mayWait && !isTemplate) return passOn(notStored)
    const held =
      typeof page === 'string'
        ? toHeldPage(unstored(draft, stored.length), encoded.bodies)
        : keeper.remember(page, encoded.bodies, lookup, fence)
    // No visitor gets a response in this coding, but the parts of a template refer to it.
    if (notStored === null && encoded.encoding !== 'identity' && held.bodies.identity === undefined && !isTemplate)
      free(encoded.identity)
    return {
      kind: 'held',
      held,
      status: response.status,
      notStored,
      shareable: reflected === null,
      live: withoutFields(visible, encoded.known ? resent : resentInCoding),
    }
  }
}

/** Whether a body cannot be decoded, or must not be: clients without its coding could not read it. */
function mustStayCoded(encoded: Encoded | 'contradicts'): boolean {
  return encoded instanceof OriginError || (typeof encoded !== 'string' && encoded.decoded !== undefined)
}
