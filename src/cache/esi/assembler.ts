import { LRUCache } from 'lru-cache'
import type { Clock } from '../../lib/clock.ts'
import { encodeCheaply, isCompressible } from '../../pages/codec.ts'
import type { Assembly, MemoryEntry } from '../../pages/memory-entry.ts'
import type { MemoryTier } from '../../pages/memory-tier.ts'
import type { Encoding, HeaderPair, Page } from '../../pages/page.ts'
import { unconfirmedMark } from '../../pages/page-row.ts'
import type { Fence, PageStore } from '../../pages/page-store.ts'
import type { Bodies } from '../bodies.ts'
import { cheapEncodingFor } from '../body-encoder.ts'
import { directivesOf } from '../cache-control.ts'
import type { Forwarded } from '../cache-status.ts'
import { fieldValue } from '../fields.ts'
import { inFlight } from '../in-flight.ts'
import type { Lookup } from '../lookup.ts'
import { OriginError } from '../origin.ts'
import { mergedCookies } from '../set-cookie.ts'
import { selects } from '../vary.ts'
import { encodingFor, toHeldPage, type HeldPage } from '../view.ts'
import { Allowance, memoryShare } from './allowance.ts'
import { bytesOf, unlimited } from './answer-bytes.ts'
import { assembledPage, privatePage } from './assembled-page.ts'
import { fits, Fragments, type Fragment, type FragmentOptions, type Omission } from './fragments.ts'
import { join, type Joined } from './join.ts'
import { parseTemplate } from './parse.ts'
import { mostIncludes, placeOf } from './place.ts'

export interface AssemblerOptions extends FragmentOptions {
  /** In bytes. */
  maxPageSize: number
  store: PageStore
  memory: MemoryTier
  bodies: Bodies
  now: Clock
  compression: boolean
  onError(message: string, error: unknown): void
}

/** A page made of its template and fragments. */
export interface Assembled {
  held: HeldPage
  /** False for an answer that only the visitor who caused it may get. */
  shareable: boolean
  /** Null: the cache had all fragments. */
  forwarded: Forwarded | null
  /** `Set-Cookie` of fragments that were fetched for this visitor. */
  cookies: HeaderPair[]
}

/** How a template was obtained. */
export interface Obtained {
  /** Taken before the template was looked for: a page with a part that was purged since is not kept. */
  fence: Fence
  /** False for a template that only this visitor may get. */
  shareable: boolean
}

/** The most messages about left out includes that are remembered, so that each is logged once. */
const mostTold = 1_000

/**
 * Makes pages of templates with ESI markup and their fragments. Pages that may be shared are kept in memory until a part
 * of them is purged, renewed or stale (docs/decisions/0089-esi.md).
 */
export class Assembler {
  readonly #options: AssemblerOptions
  readonly #fragments: Fragments
  readonly #told = new LRUCache<string, true>({ max: mostTold })

  constructor(options: AssemblerOptions) {
    this.#options = options
    this.#fragments = new Fragments(options)
  }

  /** Whether a page in memory answers a lookup as it is. */
  mayUse({ page, assembly }: HeldPage, { within }: Lookup): boolean {
    if (assembly === undefined) return true
    return this.#options.now() < page.staleAt && (within === undefined || fits(assembly, within))
  }

  /**
   * Makes the page of a template. Null when the body of the template no longer exists.
   * @param obtained null: the page is only warmed, neither sent nor kept
   * @throws OriginError when a fragment fails that the page needs
   */
  async assemble(lookup: Lookup, template: HeldPage, obtained: Obtained | null): Promise<Assembled | null> {
    // Those within another page share its allowance.
    if (lookup.within !== undefined) return this.#assemble(lookup, template, obtained, lookup.within.allowance)
    const lease = await inFlight.assemblies.lease(template.page.originalSize * memoryShare)
    const allowance = new Allowance(mostIncludes, this.#options.maxPageSize, lease)
    const { promise, reject } = Promise.withResolvers<never>()
    lease.onCut = () => reject(new OriginError('too many visitors wait for a fragment', 'overloaded'))
    try {
      return await Promise.race([this.#assemble(lookup, template, obtained, allowance), promise])
    } finally {
      lease.release()
    }
  }

  async #assemble(
    lookup: Lookup,
    template: HeldPage,
    obtained: Obtained | null,
    allowance: Allowance,
  ): Promise<Assembled | null> {
    const { bodies, maxPageSize, now } = this.#options
    const opened = await bodies.open(template, 'identity')
    const body = opened === null ? null : await bytesOf(opened, unlimited)
    if (body === null) return null
    const isNested = lookup.within !== undefined
    if (isNested) allowance.charge(body.length)
    const pieces = await this.#resolve(lookup, body, allowance)
    const joined = join(template.page, pieces, { count: mostIncludes, bytes: maxPageSize, isNested })
    this.#tell(lookup, joined)
    const shareable = obtained?.shareable === true && joined.shareable
    const page = shareable
      ? assembledPage(joined.assembly.parts, joined.body, now(), lookup)
      : privatePage(template.page, joined.body, now())
    const mayKeep = shareable && this.#mayKeep(lookup, page, joined.assembly)
    return {
      held: await this.#encode(lookup, page, joined, mayKeep ? obtained!.fence : null),
      shareable,
      forwarded: joined.forwarded,
      cookies: mergedCookies(joined.cookies, lookup.visitor.cookies),
    }
  }

  async #resolve(lookup: Lookup, body: Buffer, allowance: Allowance): Promise<(Buffer | Fragment | Omission)[]> {
    const { within } = lookup
    const template = await parseTemplate(body, mostIncludes)
    let { excess } = template
    const around = { depth: (within?.depth ?? 0) + 1, urls: within?.urls ?? [], allowance }
    const followed = template.pieces.filter((piece) => {
      const isFollowed = Buffer.isBuffer(piece) || allowance.takeInclude()
      if (!isFollowed) excess += 1
      return isFollowed
    })
    const resolved = await Promise.all(
      followed.map((piece) => (Buffer.isBuffer(piece) ? piece : this.#fragments.get(piece, lookup, around))),
    )
    const why = `${excess} includes removed: more than ${mostIncludes} in the page`
    return excess === 0
      ? resolved
      : [...resolved, { kind: 'omission', why, failed: false, isCut: within !== undefined, forwarded: null }]
  }

  /** Whether a page may be kept in memory for other visitors. */
  #mayKeep(lookup: Lookup, page: Page, { parts, isCut }: Assembly): boolean {
    // Only visitors with the same unconfirmed variant may get a page with a part for that variant.
    const isOpen = !page.key.includes(unconfirmedMark) && parts.some((part) => part.key.includes(unconfirmedMark))
    return !isOpen && !(isCut && lookup.within !== undefined) && !page.noCache && parts.every((part) => part.id !== 0)
  }

  /** Compresses a page cheaply and keeps it in memory, unless a removal has come since `fence`. Null: it is not kept. */
  async #encode(lookup: Lookup, made: Page, { body, assembly }: Joined, fence: Fence | null): Promise<HeldPage> {
    const { memory, store } = this.#options
    const kept = fence === null ? undefined : memory.get(made.key)?.find((entry) => isSame(entry, made, assembly))
    if (kept !== undefined) return kept
    const accepted = lookup.field('accept-encoding')
    const encoding = this.#isWorthIt(made) ? cheapEncodingFor(accepted) : 'identity'
    const encoded = encoding === 'identity' ? body : await encodeCheaply(body, encoding)
    const page: Page = { ...made, encoding, size: encoded.length }
    const mayKeep = fence !== null && memory.takes(body.length) && store.holds(fence)
    if (!mayKeep || !this.#areCurrent(lookup, assembly.parts))
      return { ...toHeldPage(page, { identity: body, [encoding]: encoded }), assembly }
    const entry = memory.set(page, encoding, encoded, assembly)
    if (encodingFor(page, accepted) === ('identity' satisfies Encoding)) memory.addBody(entry, 'identity', body)
    return entry
  }

  /** Whether no part was renewed while the page waited for the others: what drops the pages made of it has not seen this one. */
  #areCurrent(lookup: Lookup, parts: readonly Page[]): boolean {
    const isNewer = (part: Page) => (page: Page) => page.cachedAt > part.cachedAt && selects(page, lookup)
    return !parts.some((part) => this.#options.store.find(part.key).some(isNewer(part)))
  }

  #isWorthIt({ headers, originalSize }: Page): boolean {
    return (
      this.#options.compression &&
      isCompressible(fieldValue(headers, 'content-type'), originalSize) &&
      !directivesOf(headers).noTransform
    )
  }

  /** Logs includes that were left out. */
  #tell({ target }: Lookup, { omitted }: Joined): void {
    const message = `Fragments of ${target.path.slice(0, 200)} were left out: ${omitted}.`
    if (omitted === null || this.#told.has(message)) return
    this.#told.set(message, true)
    this.#options.onError(message, null)
  }

  /** The lookups of the fragments of a template that may be cached, as many as a page at any depth may have. */
  fragmentsAt(lookup: Lookup, held: HeldPage | null): Lookup[] {
    const { depth = 0, urls = [], allowance = new Allowance(mostIncludes, 0, null) } = lookup.within ?? {}
    const followed = (held?.page.fragments ?? []).filter(() => allowance.takeInclude())
    return followed.flatMap((url) => this.#fragments.lookupOf(url, lookup, { depth: depth + 1, urls, allowance }) ?? [])
  }

  /** The URLs of the fragments that a template includes. */
  async fragmentsOf(lookup: Lookup, template: Buffer): Promise<string[]> {
    const { pieces } = await parseTemplate(template, mostIncludes)
    const places = pieces.map((piece) => (Buffer.isBuffer(piece) ? '' : placeOf(piece.src, lookup, this.#options)))
    return [...new Set(places.flatMap((place) => (typeof place === 'string' ? [] : [place.url])))]
  }
}

/** The page as the shop sent it: the template of an assembled page. */
export function templateOf(held: HeldPage | null): HeldPage | null {
  return held?.assembly === undefined ? held : toHeldPage(held.assembly.parts[0]!, {})
}

/** Whether an assembled page in memory is the one that was just made again. */
function isSame(entry: MemoryEntry, page: Page, assembly: Assembly): boolean {
  return (
    entry.assembly?.note === assembly.note &&
    entry.page.staleAt === page.staleAt &&
    fieldValue(entry.page.headers, 'etag') === fieldValue(page.headers, 'etag') &&
    JSON.stringify([entry.page.tags, entry.page.vary, entry.page.states]) ===
      JSON.stringify([page.tags, page.vary, page.states])
  )
}
