import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../lib/clock.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { Encoding, HeaderPair, Page, PageDraft } from '../pages/page.ts'
import type { Fence, PageStore } from '../pages/page-store.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import { Budget, collect, discard, passing, Share } from './body.ts'
import { Coder, type Coded } from './coder.ts'
import { variantObstacle, type Confirmations } from './confirmations.ts'
import { freshenedDraft, toDraft, type DraftOptions } from './draft.ts'
import { connectionFields, fieldValue, hasField, withoutFields } from './fields.ts'
import { storableHeaders, tagsOf, visibleHeaders, withAuthorization } from './forward.ts'
import type { Received } from './freshness.ts'
import { storeObstacle } from './may-store.ts'
import { OriginError, toOriginError, type OriginClient, type OriginResponse } from './origin.ts'
import type { Question } from './question.ts'
import { parseContentRange } from './range.ts'
import { reflectedField } from './reflection.ts'
import { confirms, describes, validatorsOf } from './validation.ts'
import { encodingFor, storedAs, toHeld, type Held } from './view.ts'

/** What a question for the origin brought. */
export type Fetched =
  /**
   * In memory as a whole; `obstacle` says why it was not stored, null where it was. `shareable`: whether those who wait for it may have
   * it, stored or not. `live`: the fields for the visitor who asked.
   */
  | { kind: 'held'; held: Held; status: number; obstacle: string | null; shareable: boolean; live: HeaderPair[] }
  /** To be passed on to the one who asked. */
  | { kind: 'stream'; status: number; headers: HeaderPair[]; tags: readonly string[]; body: Readable; obstacle: string }

/** One question on its way. */
interface Asking {
  question: Question
  /** What of the request came from the visitor. */
  sent: readonly HeaderPair[]
  fence: Fence
  /** By `performance.now`. */
  started: number
  /** A warmup waits for the store as long as it takes; a visitor does not. */
  patient: boolean
}

export interface FetchOptions extends DraftOptions {
  store: PageStore
  memory: MemoryTier
  origin: OriginClient
  now: Clock
  confirmations: Confirmations
  compression: boolean
  /** Bytes; larger bodies are passed on and not stored. */
  maxPageSize: number
}

/** So many of the largest pages may be in memory while they are read, decoded and coded; the next ones are passed on unstored. */
const atOnce = 4
/** Pages whose size is not announced are taken for pages up to here (bytes): what goes on is a download or has no end. */
const largestUnannounced = 1024 * 1024
/** How long a visitor waits for a store that others keep busy, in milliseconds; the page may come into it later. */
const busyFor = 500

/** Asks the origin and stores what may be stored: the one way by which a page comes into the cache. */
export class Fetcher {
  readonly #options: FetchOptions

  readonly #budget: Budget
  readonly #coder: Coder

  constructor(options: FetchOptions) {
    this.#options = options
    this.#budget = new Budget(options.maxPageSize * atOnce)
    this.#coder = new Coder(options)
  }

  /**
   * @param stale a stored page to be validated, null for none
   * @param signal gives the fetch up; a visitor who leaves does not: others may wait for the same page
   * @throws OriginError when the origin gives no whole, sound response
   */
  async fetch(question: Question, stale: Held | null, fence: Fence, signal?: AbortSignal): Promise<Fetched> {
    const { origin, now } = this.#options
    const { headers, sent } = storableHeaders(question.visit, question.channel)
    // A HEAD of a page that we hold can tell that it is the same as ever; one of anything else is not for us.
    const head = question.visit.method === 'HEAD' && stale !== null
    const extra = head ? [] : stale === null ? rangeOf(question) : validatorsOf(stale.page)
    const deadline = new AbortController()
    const timer = setTimeout(
      () => deadline.abort(new OriginError('the origin took too long', 'timeout', null)),
      origin.totalTimeout,
    )
    const requestedAt = now()
    let answering = false
    const started = performance.now()
    try {
      const response = await origin.send({
        origin: question.channel.origin,
        method: head ? 'HEAD' : 'GET',
        target: `${question.target.path}${question.target.query}`,
        headers: withAuthorization([...headers, ['accept-encoding', 'identity'], ...extra], question.channel),
        body: null,
        signal: signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, signal]),
        onInterim: question.visit.onInterim,
      })
      answering = true
      const received = { ...response, requestedAt, receivedAt: now() }
      const asking: Asking = {
        question: this.#confirmed(question, response),
        sent,
        fence,
        started,
        patient: signal !== undefined,
      }
      if (head && !describes(stale.page, response)) return passedOn(received, 'the answer to a HEAD is no page')
      if (!head && (response.status !== 304 || stale === null)) return await this.#store(asking, received)
      discard(response.body)
      if (!head && !confirms(stale!.page, response)) return await this.fetch(question, null, fence, signal)
      return await this.#freshen(asking, stale!, received)
    } catch (error) {
      throw deadline.signal.aborted ? toOriginError(deadline.signal.reason) : toOriginError(error, answering)
    } finally {
      clearTimeout(timer)
    }
  }

  /** The question under the key that the answer shows to be its visitor's. */
  #confirmed(question: Question, { headers }: OriginResponse): Question {
    const { confirmations } = this.#options
    confirmations.learn(question.visitor, headers)
    return confirmations.confirmedBy(question.visitor, headers) ? { ...question, key: question.sharedKey } : question
  }

  /** Asks the origin as for a page, and only says whether its answer could be stored. @throws OriginError */
  async probe(question: Question): Promise<{ status: number; obstacle: string | null }> {
    const { headers } = storableHeaders(question.visit, question.channel)
    const {
      status,
      headers: received,
      body,
    } = await this.#options.origin.send({
      origin: question.channel.origin,
      method: 'GET',
      target: `${question.target.path}${question.target.query}`,
      headers: withAuthorization([...headers, ['accept-encoding', 'identity']], question.channel),
      body: null,
      signal: AbortSignal.timeout(this.#options.origin.totalTimeout),
      onInterim: () => {},
    })
    discard(body)
    return { status, obstacle: this.#obstacle(question, status, received) }
  }

  async #freshen({ question, sent, fence, patient }: Asking, stale: Held, response: Received): Promise<Fetched> {
    const { store } = this.#options
    const draft = freshenedDraft(stale.page, question, response, this.#options)
    const obstacle =
      variantObstacle(question.variantCookies, response.headers, this.#options.now()) ??
      storeObstacle(question, draft.status, draft.headers, this.#options.defaultTtl) ??
      reflectionObstacle(question, sent, response, noBody)
    const page = obstacle === null ? await this.#soon(store.freshen(stale.page, draft, fence), patient) : null
    const held =
      page === null
        ? toHeld(unstored(draft, stale.page.size), stale.bodies, storedAs(stale) ?? undefined)
        : this.#remember(page, stale.bodies, question, fence)
    const cookies = response.headers.filter(([name]) => name.toLowerCase() === 'set-cookie')
    return {
      kind: 'held',
      held,
      status: response.status,
      obstacle: page === null ? (obstacle ?? this.#whyNotTaken(fence)) : null,
      shareable: obstacle === null,
      live: [...draft.headers, ...cookies],
    }
  }

  async #store(asking: Asking, response: Received & OriginResponse): Promise<Fetched> {
    const { question } = asking
    const { maxPageSize } = this.#options
    if (response.status === 304) {
      discard(response.body)
      throw new OriginError('the origin answered 304 to a request without a condition', 'broken', null)
    }
    const range = response.status === 206 ? parseContentRange(fieldValue(response.headers, 'content-range')) : null
    const obstacle = this.#obstacle(question, response.status, response.headers) ?? partialObstacle(response, range)
    if (obstacle !== null) return passedOn(response, obstacle)
    const announced = fieldValue(response.headers, 'content-length')
    if (Number(announced ?? 0) > maxPageSize) return passedOn(response, 'larger than cache.maxPageSize')
    const limit = announced === null ? Math.min(maxPageSize, largestUnannounced) : maxPageSize
    const share = new Share(this.#budget)
    const collected = await collect(response.body, limit, share)
    if (collected.kind === 'overflow')
      return passedOn(
        { ...response, body: collected.stream },
        overflow[limit === maxPageSize ? collected.over : 'unannounced'],
      )
    const passOn = (why: string) => passedOn({ ...response, body: passing(collected.body, share) }, why)
    let passed = false
    try {
      const coded = await this.#coder.code(response, collected.body, share)
      const fetched =
        typeof coded === 'string' ? passOn(overflow[coded]) : await this.#take(asking, response, coded, passOn, range)
      passed = fetched.kind === 'stream'
      return fetched
    } finally {
      if (!passed) share.release()
    }
  }

  /** Stores a whole page, where it may be. `passOn`: what becomes of a large one that was not. */
  async #take(
    { question, sent, fence, started, patient }: Asking,
    response: Received,
    coded: Coded,
    passOn: (why: string) => Fetched,
    range: PageDraft['range'],
  ): Promise<Fetched> {
    const { store, memory } = this.#options
    const reflected = reflectionObstacle(question, sent, response, coded.identity)
    const content = {
      encoding: coded.encoding,
      originalSize: coded.identity.length,
      generationMs: performance.now() - started,
      range,
    }
    const draft = toDraft(question, response, content, this.#options)
    const stored = coded.bodies[coded.encoding]!
    const page = reflected === null ? await this.#soon(store.put(draft, stored, fence), patient) : null
    const obstacle = page === null ? (reflected ?? this.#whyNotTaken(fence)) : null
    const mayWait = reflected === null ? memory.takes(coded.identity.length) : coded.identity.length <= pieceSize
    if (obstacle !== null && !mayWait) return passOn(obstacle)
    return {
      kind: 'held',
      held:
        page === null
          ? toHeld(unstored(draft, stored.length), coded.bodies)
          : this.#remember(page, coded.bodies, question, fence),
      status: response.status,
      obstacle,
      shareable: reflected === null,
      live: withoutFields(
        visibleHeaders(response.headers),
        new Set(['age', 'content-length', ...(coded.known ? ['content-encoding'] : [])]),
      ),
    }
  }

  #obstacle(question: Question, status: number, headers: readonly HeaderPair[]): string | null {
    return (
      storeObstacle(question, status, headers, this.#options.defaultTtl) ??
      variantObstacle(question.variantCookies, headers, this.#options.now())
    )
  }

  #whyNotTaken(fence: Fence): string {
    return this.#options.store.holds(fence) ? notTaken.noRoom : notTaken.invalidated
  }

  /** What the store made of a page; null where it took none, or takes longer than a visitor should wait for it. */
  async #soon(storing: Promise<Page | null>, patient: boolean): Promise<Page | null> {
    return patient ? storing : Promise.race([storing, pause(busyFor, null, { ref: false })])
  }

  /**
   * Takes a stored page into memory, unless it is large, or an invalidation came between: it may have been of this page. Beside the stored
   * coding the one that this visitor gets, so that nobody has to make it again. What is not kept is read from the store again.
   */
  #remember(page: Page, bodies: Held['bodies'], question: Question, fence: Fence): Held {
    const { store, memory } = this.#options
    const small: Held['bodies'] = {}
    for (const [encoding, body] of Object.entries(bodies))
      if (memory.takes(body.length)) small[encoding as Encoding] = body
    const stored = small[page.encoding]
    if (stored === undefined || !store.holds(fence)) return toHeld(page, small)
    const entry = memory.set(page, page.encoding, stored)
    const wanted = encodingFor(page, question.field('accept-encoding'))
    const body = small[wanted]
    if (body === undefined || entry.bodies[wanted] !== undefined) return entry
    memory.addBody(entry, wanted, body)
    return entry.bodies[wanted] === undefined ? toHeld(page, small) : entry
  }
}

const noBody = Buffer.alloc(0)

/** Why a page that may be stored was not. */
const notTaken = { noRoom: 'the store has no room or is busy', invalidated: 'an invalidation came meanwhile' }

/** Whether a page may be stored all the same if it is fetched once more. */
export function isPassingObstacle(obstacle: string): boolean {
  return obstacle === notTaken.noRoom || obstacle === notTaken.invalidated
}

/** Why a body was not read to its end. */
const overflow = {
  limit: 'larger than cache.maxPageSize',
  unannounced: 'larger than 1 MiB, and its size was not announced',
  budget: 'too many large pages are read at once',
}

function passedOn(response: OriginResponse, obstacle: string): Fetched {
  return {
    kind: 'stream',
    status: response.status,
    headers: visibleHeaders(response.headers),
    tags: tagsOf(response.headers),
    body: response.body,
    obstacle,
  }
}

function reflectionObstacle(
  question: Question,
  sent: readonly HeaderPair[],
  response: Received,
  body: Buffer,
): string | null {
  // Fields of the connection to the shop are no part of the page: what stands in them reflects nobody.
  const reflected = reflectedField(
    question,
    sent,
    withoutFields(response.headers, connectionFields(response.headers)),
    body,
  )
  return reflected === null ? null : `the response reflects the request's ${reflected}`
}

/** A page that is answered with, but not in the store. */
function unstored(draft: PageDraft, size: number): Page {
  return { ...draft, id: 0, size, hits: 0, hitMs: 0, usedAt: draft.cachedAt }
}

function partialObstacle({ status, headers }: OriginResponse, range: PageDraft['range']): string | null {
  if (status !== 206) return null
  if (range === null) return 'several ranges, or a range without its place'
  return hasField(headers, 'content-encoding') ? 'a range of a coded body' : null
}

/** A range that we do not hold is asked for as it is; the whole might be a film. */
function rangeOf(question: Question): HeaderPair[] {
  const range = question.field('range')
  if (range === null) return []
  const condition = question.field('if-range')
  return condition === null
    ? [['range', range]]
    : [
        ['range', range],
        ['if-range', condition],
      ]
}
