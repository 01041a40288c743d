import type { Fence } from '../pages/page-store.ts'
import { nextFetch } from './after-waiting.ts'
import { Bodies } from './bodies.ts'
import { discard } from './body.ts'
import { hidden } from './browser.ts'
import { pathsAtOrBelow } from './bypass.ts'
import { emptyAnswer } from './empty.ts'
import type { CacheStatus } from './cache-status.ts'
import { Assembler, templateOf } from './esi/assembler.ts'
import { lacksFragments, warmFragments } from './esi/warm-fragments.ts'
import { Fetcher } from './fetch.ts'
import { PageFinder } from './page-finder.ts'
import { invalidated, type Fetched } from './fetched.ts'
import { serverErrors, usability } from './freshness.ts'
import { isLoop } from './forward.ts'
import { HotPath } from './hot.ts'
import { inFlight } from './in-flight.ts'
import { LifetimeWatch } from './lifetime-advice.ts'
import { OriginError, unlessAborted, type OriginClient } from './origin.ts'
import type { Exchange } from './origin/exchange.ts'
import type { Slot } from './origin/slots.ts'
import { otherSearch, SearchRules } from './no-vary-search.ts'
import { PassThrough, type PassedVisit, type PassSink } from './pass-through.ts'
import { classifyRouted, routeOf, type ClassifyOptions, type Lookup, type RoutedVisit } from './lookup.ts'
import { streamedAnswer } from './present.ts'
import { Presenter } from './presenter.ts'
import { probe, type Probed } from './probe.ts'
import { answeringOriginErrors, loopAnswer, noChannel, originFailureText, plainAnswer, type Refuse } from './refusal.ts'
import { fromOtherNode, SharedFetches, staleIfError } from './shared-fetches.ts'
import { toClassifyOptions, type StorefrontCacheOptions } from './storefront-options.ts'
import { UnsafeInvalidation, type UnsafeCounts } from './unsafe.ts'
import { hasValidator } from './validation.ts'
import { answers, type HeldPage } from './view.ts'
import { visitorLeft, type CacheAnswer, type Visit, type VisitHead } from './visit.ts'

/** How often a visitor waits for a fetch of others before starting one that they need not wait for. */
const mostWaits = 3

/** A reason in `Cache-Status`. */
const otherState = 'the page must not be served in this client state'

/** Answers visitors' requests: from the cache where allowed, else from the shop. */
export class StorefrontCache {
  readonly hot: HotPath
  readonly classifying: ClassifyOptions
  readonly origin: OriginClient
  readonly unsafe: UnsafeCounts
  readonly #options: StorefrontCacheOptions
  readonly #fetcher: Fetcher
  readonly #passThrough: PassThrough
  readonly #fetches: SharedFetches
  readonly #lifetimes: LifetimeWatch
  readonly #assembler: Assembler
  readonly #presenter: Presenter
  readonly #finder: PageFinder

  constructor(options: StorefrontCacheOptions) {
    this.#options = options
    this.origin = options.origin
    const search = new SearchRules()
    this.classifying = toClassifyOptions(options, search)
    const bodies = new Bodies({ ...options, budgets: inFlight })
    this.#assembler = new Assembler({
      ...options,
      classifying: { ...this.classifying, search: null },
      mayInclude: pathsAtOrBelow(options.esiPaths),
      bodies,
      ask: (lookup) => this.#ask(lookup),
      pass: (visit, route) => this.#passThrough.pass(visit, route),
    })
    this.#finder = new PageFinder({ ...options, assembler: this.#assembler })
    this.#presenter = new Presenter({ ...options, bodies, assembler: this.#assembler })
    this.hot = new HotPath(this.classifying, options.store, options.memory, options.now, options.standing)
    this.#fetcher = new Fetcher(
      { ...options, fragmentsOf: (...page) => this.#assembler.fragmentsOf(...page) },
      () => this.hot.isQuiet,
    )
    this.#lifetimes = new LifetimeWatch(options)
    this.#fetches = new SharedFetches(this.#fetcher, { ...options, search })
    const unsafe = new UnsafeInvalidation({
      ...options,
      mode: options.invalidateOnUnsafe,
      classifying: this.classifying,
      hasOtherNodes: options.standing !== undefined,
      isUnderWay: (url) => this.#fetches.isUnderWay(url),
    })
    this.unsafe = unsafe.counts
    this.#passThrough = new PassThrough({ ...options, classes: this.classifying.variants.classes }, unsafe)
  }

  /** Answers a visitor's request. Errors of the shop become a response, made by `refuse`, never an exception. */
  answer(visit: Visit, refuse: Refuse = plainAnswer): Promise<CacheAnswer> {
    return answeringOriginErrors(() => this.#respond(this.route(visit), this.classifying), refuse)
  }

  /** Finds out where a request goes. */
  route<V extends VisitHead>(sent: V): RoutedVisit<V> {
    const visit = this.classifying.variants.classes.classified(sent)
    return { visit, found: routeOf(visit, this.classifying) }
  }

  /** `answer` for a request whose route is known. */
  answerRouted(routed: RoutedVisit<Visit>, refuse: Refuse): Promise<CacheAnswer> {
    return answeringOriginErrors(() => this.#respond(routed, this.classifying), refuse)
  }

  /** @throws OriginError */
  async #respond({ visit, found }: RoutedVisit<Visit>, classifying: ClassifyOptions): Promise<CacheAnswer> {
    const classified = classifyRouted(visit, found, classifying)
    if (classified.kind === 'unknown-site') return plainAnswer(421, noChannel(visit))
    // The front answers the daemon's own endpoints before it calls this.
    if (classified.kind === 'own') return plainAnswer(404, 'This path belongs to the cache in front of the shop.')
    if (isLoop(visit.headers)) return loopAnswer()
    if (classified.kind === 'empty') return emptyAnswer(this.#options.now())
    if (classified.kind === 'pass') return this.#passThrough.pass(visit, classified)
    const { lookup } = classified
    const answer = await this.#ask(lookup)
    return lookup.isHidden && visit.isPurged !== true ? { ...answer, headers: hidden(answer.headers) } : answer
  }

  /** Passes a request through to the shop without streams. Null for other requests, which `answerRouted` answers. */
  pass({ visit, found }: RoutedVisit<PassedVisit>, sink: PassSink): Exchange | null {
    return found.kind === 'pass' && !isLoop(visit.headers) ? this.#passThrough.begin(visit, found, sink) : null
  }

  /**
   * Passes a login of the shop through, although its path is the daemon's token endpoint
   * (docs/decisions/0027-shop-logins.md). `refuse` builds the answer when the shop gives none.
   */
  async passLogin(sent: Visit, refuse: Refuse): Promise<CacheAnswer> {
    const { visit, found: classified } = this.route(sent)
    if (classified.kind !== 'own' || classified.channel === null) return this.answer(visit)
    const { channel, target, url } = classified
    if (isLoop(visit.headers)) return loopAnswer(refuse)
    return answeringOriginErrors(
      () => this.#passThrough.pass(visit, { channel, target, url, isAsset: false, reason: 'a shop login' }),
      refuse,
    )
  }

  async #ask(lookup: Lookup): Promise<CacheAnswer> {
    for (let waits = 0, name: string | null = lookup.key; ; waits++) {
      if (lookup.search !== null && !this.#fetches.isCurrent(lookup))
        return this.#respond(this.route(lookup.visit), { ...this.classifying, search: null })
      const standing = this.#options.standing?.() ?? 'confirmed'
      // Other nodes may have purged any page, and a fetch in progress may have begun before.
      if (standing === 'none' && !lookup.onlyIfCached)
        return this.#passThrough.pass(lookup.visit, { ...lookup, reason: 'no lease' })
      const note = standing === 'unconfirmed' ? standing : undefined
      const fence = this.#options.store.fence()
      let held = lookup.mayReuse && standing !== 'none' ? this.find(lookup) : null
      if (held !== null && held.page.states.some((state) => lookup.states.includes(state)))
        return this.#passThrough.pass(lookup.visit, { ...lookup, reason: otherState })
      const usable = held === null ? 'stale' : this.#fetches.usability(lookup, held.page)
      if (held !== null && usable !== 'stale') {
        const detail = [usable === 'fresh' ? [] : usable, note ?? []].flat().join(', ')
        const answer = await this.#presenter.hit(lookup, held, fence, detail === '' ? undefined : detail)
        if (answer !== null) {
          this.hot.noteHit()
          if (usable === 'stale-while-revalidate') this.#revalidate(lookup, held)
          return answer
        }
        // Its body is missing or damaged: treated as a miss.
        held = null
      }
      if (lookup.onlyIfCached) return plainAnswer(504, 'The page is not cached, and the request is only-if-cached.')
      if (lookup.visit.method === 'HEAD' && (held === null || !hasValidator(held.page)))
        return this.#passThrough.pass(lookup.visit, { ...lookup, reason: 'HEAD of a page that is not cached' })
      const mayWait = waits < mostWaits && this.#fetches.mayShare(lookup)
      const flight = name !== null && mayWait ? this.#fetches.join(lookup, name) : null
      if (flight === null) return this.#lead(lookup, held, name)
      flight.waiters?.add(lookup.visit.signal)
      const outcome = await flight.outcome
      if (outcome.kind === 'abandoned' && lookup.visit.signal.aborted) throw visitorLeft
      // The first of those who waited starts the next fetch, and the others join it.
      if (outcome.kind === 'abandoned') return this.#ask(lookup)
      if (outcome.kind === 'failed') return this.#standIn(lookup, held, fence, outcome.error)
      if (outcome.kind === 'page' && answers(outcome.page.held.page, lookup, this.#options.now())) {
        const { held: landed, hit } = outcome.page
        const why = held === null ? 'miss' : 'stale'
        const status: CacheStatus = { kind: 'forward', why, collapsed: true, ...(note && { detail: note }) }
        const answer =
          hit === null
            ? await this.#presenter.present(lookup, landed, status, { fence, shareable: true })
            : await this.#presenter.hit(lookup, landed, fence, hit)
        if (answer !== null) return answer
        // It was removed meanwhile: join or start the next fetch.
        continue
      }
      name = nextFetch(outcome, lookup)
    }
  }

  /** The best page for a lookup, whatever its age, without its body. */
  find(lookup: Lookup): HeldPage | null {
    return this.#finder.find(lookup)
  }

  /** Fetches from the origin for this visitor and all who wait with them. */
  async #lead(lookup: Lookup, stale: HeldPage | null, name: string | null = lookup.key): Promise<CacheAnswer> {
    const why = stale === null ? 'miss' : 'stale'
    const fence = this.#options.store.fence()
    try {
      const fetched = await this.#fetches.fetch(lookup, stale, { name })
      if (fetched.kind === 'held' && fetched.isShared === true) {
        const answer = await this.#presenter.hit(lookup, fetched.held, fence, fromOtherNode)
        return answer ?? (await this.#passThrough.pass(lookup.visit, { ...lookup, reason: invalidated }))
      }
      this.#lifetimes.note(fetched)
      if (serverErrors.has(fetched.status) && this.#fetches.standsIn(lookup, stale, 'error')) {
        const answer = await this.#presenter.hit(lookup, stale, fence, staleIfError(fetched.status))
        if (answer !== null && fetched.kind === 'stream') discard(fetched.body)
        if (answer !== null) return answer
      }
      if (fetched.notStored === otherSearch) {
        if (fetched.kind === 'stream') discard(fetched.body)
        return await this.#ask(lookup)
      }
      const cacheStatus: CacheStatus = {
        kind: 'forward',
        why,
        status: fetched.status,
        ...(fetched.notStored === null ? { stored: true } : { detail: fetched.notStored }),
      }
      if (fetched.kind === 'stream') {
        const target = `${lookup.target.path}${lookup.target.query}`
        return { ...streamedAnswer(fetched, cacheStatus), type: this.#options.typeOf({ ...fetched, target }) }
      }
      const { shareable, live } = fetched
      const answer = await this.#presenter.present(lookup, fetched.held, cacheStatus, { fence, shareable }, live)
      if (answer !== null) return answer
      // Removed before it was sent.
      if (stale !== null) return await this.#lead(lookup, null)
      return await this.#passThrough.pass(lookup.visit, { ...lookup, reason: invalidated })
    } catch (error) {
      if (!(error instanceof OriginError)) throw error
      error.why ??= why
      return this.#standIn(lookup, stale, fence, error)
    }
  }

  /** Answers with the stale page, if it may replace a failed fetch. @throws OriginError the failure, otherwise */
  async #standIn(lookup: Lookup, stale: HeldPage | null, fence: Fence, error: OriginError): Promise<CacheAnswer> {
    if (!this.#fetches.standsIn(lookup, stale, 'unreachable')) throw error
    const answer = await this.#presenter.hit(lookup, stale, fence, `stale, ${originFailureText[error.failure]}`)
    if (answer === null) throw error
    return answer
  }

  /** Refetches a page in the background, once for all who get the stale page (stale-while-revalidate, RFC 5861 §3). */
  #revalidate(lookup: Lookup, stale: HeldPage): void {
    this.#fetches.renew(lookup, stale)?.then(
      (fetched) => {
        if (fetched.kind === 'stream') discard(fetched.body)
      },
      (error: unknown) => {
        if (!(error instanceof OriginError))
          this.#options.onError(`could not revalidate ${lookup.url} in the background`, error)
      },
    )
  }

  /** Why the last response to a lookup could not be stored; null when unknown. */
  notStored(lookup: Lookup): string | null {
    return this.#fetches.notStored(lookup)
  }

  /**
   * Fetches a page and the fragments that it lacks into the cache as a visitor's miss would. Null when a concurrent fetch
   * or, unless by force, another node already did, and when the page is fresh; the page may be an error. @throws OriginError
   */
  async warm(lookup: Lookup, signal: AbortSignal, slot: Slot | null = null, force = true): Promise<Fetched | null> {
    const flight = this.#fetches.join(lookup)
    const outcome = flight && (await unlessAborted(flight.outcome, signal))
    if (outcome?.kind === 'abandoned') return this.warm(lookup, signal, slot, force)
    if (outcome?.kind === 'failed') throw outcome.error
    const joined = outcome?.kind === 'page' ? outcome.page.held.page : null
    const hasJoined = joined !== null && answers(joined, lookup, this.#options.now())
    if (hasJoined) await this.#options.store.settled(joined)
    const held = templateOf(this.find(lookup))
    // What visitors got of a fetch may be stale, or not stored because of a purge or a lack of room.
    const mayBeFresh = !force || hasJoined
    const isFresh = mayBeFresh && held !== null && usability(held.page, this.#options.now()) === 'fresh'
    const fetching = isFresh ? null : this.#fetches.fetch(lookup, held, { warming: { signal, slot, force } })
    const fetched = fetching && (await this.#options.store.announce(fetching))
    const warmed = fetched?.kind === 'held' ? fetched.held : fetched === null ? held : null
    await warmFragments(this.#assembler, lookup, warmed, (part) => this.warm(part, signal, slot, false), signal)
    return fetched?.kind === 'held' && fetched.isShared === true && fetched.notStored === null ? null : fetched
  }

  /** Whether a page has fragments that are not fresh in the cache. */
  lacksFragments(lookup: Lookup, held: HeldPage): boolean {
    return lacksFragments(this.#assembler, lookup, held, (part) => this.find(part), this.#options.now)
  }

  /** Checks whether the origin's response could be stored, without storing it. @throws OriginError */
  probe(lookup: Lookup): Promise<Probed> {
    return probe(lookup, this.#options)
  }
}
