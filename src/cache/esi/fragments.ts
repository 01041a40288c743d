import { decode, toEncoding, TooLarge } from '../../pages/codec.ts'
import type { Assembly, MemoryEntry } from '../../pages/memory-entry.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { discard } from '../body.ts'
import { forwardedBy, ownStatus, type Forwarded } from '../cache-status.ts'
import { fieldValue } from '../fields.ts'
import { classify, type Classified, type Lookup, type Nesting } from '../lookup.ts'
import { OriginError, type OriginFailure } from '../origin.ts'
import type { Route } from '../pass-through.ts'
import type { CacheAnswer, Visit } from '../visit.ts'
import type { Allowance } from './allowance.ts'
import { bytesOf, unlimited } from './answer-bytes.ts'
import type { Include } from './parse.ts'
import { deepest, placeOf, type Place, type PlaceRules } from './place.ts'

/** A fragment of a page. */
export interface Fragment {
  kind: 'fragment'
  bytes: Buffer
  /** The page that it came from; null for one that only this visitor may get. */
  held: MemoryEntry | null
  path: string
  cookies: HeaderPair[]
  /** Null: the cache had it. */
  forwarded: Forwarded | null
  /** Why it is the `alt` of an include; absent for one that was included itself. */
  insteadOf?: Omission
}

/** An include that was left out of a page. */
export interface Omission {
  kind: 'omission'
  why: string
  /** Whether the fragment failed, rather than that the include was refused. */
  failed: boolean
  /** Whether it was refused because of the pages around it. */
  isCut: boolean
  /** Null: the shop was not asked. */
  forwarded: Forwarded | null
}

export interface FragmentOptions extends PlaceRules {
  /** Answers from the cache, or from the shop. */
  ask(lookup: Lookup): Promise<CacheAnswer>
  pass(visit: Visit, route: Route): Promise<CacheAnswer>
}

/** Why a fragment could not be obtained. */
interface Failure {
  kind: 'failure'
  why: string
  failure: OriginFailure
  forwarded: Forwarded
}

/** Obtains the fragments of pages, each as a page of its own. */
export class Fragments {
  readonly #options: FragmentOptions

  constructor(options: FragmentOptions) {
    this.#options = options
  }

  /**
   * The fragment of an include, or of its `alt`.
   * @param around the pages around the fragment
   * @throws OriginError when it fails and the page needs it
   */
  async get(include: Include, page: Lookup, around: Nesting): Promise<Fragment | Omission> {
    const first = await this.#try(include.src, page, around)
    if (first.kind === 'fragment' || (include.alt === null && first.kind === 'omission')) return first
    const second = include.alt === null ? null : await this.#try(include.alt, page, around)
    if (second?.kind === 'fragment') return { ...second, insteadOf: first.kind === 'omission' ? first : failed(first) }
    const failure = [first, second].find((each) => each?.kind === 'failure')
    if (failure?.kind !== 'failure') return first as Omission
    if (!include.optional) throw new OriginError(failure.why, failure.failure)
    return failed(failure)
  }

  /** The lookup of a fragment by its URL; null where it is not cached or must not be included. */
  lookupOf(url: string, page: Lookup, around: Nesting): Lookup | null {
    const place = placeOf(url, page, this.#options)
    if (typeof place === 'string' || around.depth > deepest) return null
    if (url === page.url || around.urls.includes(url)) return null
    const classified = this.#classify(place, page)
    return classified.kind === 'lookup' ? within(classified.lookup, page, around) : null
  }

  #classify(place: Place, page: Lookup): Exclude<Classified, { kind: 'own' | 'unknown-site' }> {
    const classified = classify(visitOf(page, place.target), this.#options.classifying, page.trusted)
    if (classified.kind === 'own' || classified.kind === 'unknown-site') throw new Error('An include left its channel')
    return classified
  }

  async #try(src: string, page: Lookup, around: Nesting): Promise<Fragment | Omission | Failure> {
    const place = placeOf(src, page, this.#options)
    if (typeof place === 'string') return refused(`${shown(src)} removed: ${place}`, false)
    const path = shown(place.target)
    if (place.url === page.url || around.urls.includes(place.url))
      return refused(`${path} removed: the page includes itself`, place.url !== page.url)
    if (around.depth > deepest) return refused(`${path} removed: more than ${deepest} deep`, true)
    try {
      return await this.#fetch(place, page, around)
    } catch (error) {
      if (!(error instanceof OriginError)) throw error
      return { kind: 'failure', why: `${path} failed: ${error.message}`, failure: error.failure, forwarded: {} }
    }
  }

  async #fetch(place: Place, page: Lookup, around: Nesting): Promise<Fragment | Omission | Failure> {
    const { ask, pass } = this.#options
    const path = shown(place.target)
    const classified = this.#classify(place, page)
    const answer = await (classified.kind === 'lookup'
      ? ask(within(classified.lookup, page, around))
      : pass(visitOf(page, place.target), {
          isAsset: false,
          reason: 'an empty path',
          ...classified,
        }))
    const forwarded = forwardedBy(ownStatus(answer.headers))
    const isGood = answer.status >= 200 && answer.status < 300
    const bytes = isGood ? await decoded(answer, around.allowance) : discarded(answer)
    if (bytes === tooLarge) return refused(`${path} removed: the page is too large`, around.depth > 1)
    if (Buffer.isBuffer(bytes)) {
      const cookies = answer.headers.filter(([name]) => name.toLowerCase() === 'set-cookie')
      return { kind: 'fragment', bytes, held: answer.source ?? null, path, cookies, forwarded }
    }
    const why = isGood ? 'its coding is unknown' : `status ${answer.status}`
    const failure = answer.status === 504 ? 'timeout' : 'broken'
    return { kind: 'failure', why: `${path} failed: ${why}`, failure, forwarded: forwarded ?? {} }
  }
}

/** Whether an assembled page may be a fragment where it is: it must not exceed what the pages around it allow. */
export function fits({ isCut, height, count }: Assembly, within: Nesting): boolean {
  return !isCut && within.depth + height <= deepest && count <= within.allowance.includes
}

function refused(why: string, isCut: boolean): Omission {
  return { kind: 'omission', why, failed: false, isCut, forwarded: null }
}

function failed({ why, forwarded }: Failure): Omission {
  return { kind: 'omission', why, failed: true, isCut: false, forwarded }
}

/** A URL for logs and answers: without its query, and short. */
function shown(src: string): string {
  return src
    .split(/[?#]/, 1)[0]!
    .replace(/[^\x21-\x7e]/g, '')
    .slice(0, 80)
}

/** Fields of a request for a page that are not for its fragments. */
const ofPage = /^(?:range|if-.*|accept-encoding|content-.*|expect)$/i

function within(fragment: Lookup, page: Lookup, around: Nesting): Lookup {
  return { ...fragment, within: { ...around, urls: [...around.urls, page.url] } }
}

/** Fields that are in no key of a page below `cache.assets`, and therefore must not decide about its fragments. */
const ofVisitor = /^(?:cookie|sw-cache-hash)$/i

/** The request for a fragment, as the visitor of the page would send it. */
function visitOf({ visit, channel: { scheme, host }, isAsset }: Lookup, target: string): Visit {
  const headers = visit.headers.filter(([name]) => !ofPage.test(name) && !(isAsset && ofVisitor.test(name)))
  return { ...visit, method: 'GET', scheme, host, target, headers, body: null, onInterim: () => {} }
}

const tooLarge = 'too large'

/** The body of an answer without its coding; null when that is unknown. What it takes of the allowance is taken from it. */
async function decoded(answer: CacheAnswer, allowance: Allowance): Promise<Buffer | typeof tooLarge | null> {
  const encoding = toEncoding(fieldValue(answer.headers, 'content-encoding'))
  if (encoding === null) return discarded(answer)
  // A nested page is made of texts that were taken already.
  const isMade = answer.source?.assembly !== undefined
  const bytes = await bytesOf(answer.body, isMade ? unlimited : allowance)
  if (bytes === null || encoding === 'identity') return bytes ?? tooLarge
  try {
    const whole = await decode(bytes, encoding, bytes.length + allowance.bytes)
    return allowance.takeBytes(whole.length - bytes.length) ? whole : tooLarge
  } catch (error) {
    if (error instanceof TooLarge) return tooLarge
    throw new OriginError(`the shop sent an invalid ${encoding} body`, 'broken', error)
  }
}

function discarded({ body }: CacheAnswer): null {
  if (body !== null && 'pieces' in body) body.discard()
  else if (body !== null && !Buffer.isBuffer(body)) discard(body)
  return null
}
