import type { Clock } from '../lib/clock.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { Page } from '../pages/page.ts'
import type { PageStore } from '../pages/page-store.ts'
import { Bodies } from './bodies.ts'
import { discard } from './body.ts'
import { pathBypass, type BypassRules } from './bypass.ts'
import { cacheStatus, type Outcome } from './cache-status.ts'
import type { Channels } from './channel.ts'
import { Flights, Uncacheable } from './coalesce.ts'
import { Fetcher, type Fetched, type FetchOptions } from './fetch.ts'
import { mayServeStale, usability, type OriginTrouble } from './freshness.ts'
import { isLoop } from './forward.ts'
import { HotPath } from './hot.ts'
import { inFlight } from './in-flight.ts'
import type { VariantRules } from './key.ts'
import { isUnremarkable } from './may-store.ts'
import { OriginError, type OriginClient } from './origin.ts'
import { Passage } from './pass.ts'
import { classify, type ClassifyOptions, type Question } from './question.ts'
import { plainAnswer, troubleAnswer, troubleText } from './refusal.ts'
import { canonicaliser } from './target.ts'
import { UnsafeInvalidation, type UnsafeCounts, type UnsafeMode } from './unsafe.ts'
import { hasValidator } from './validation.ts'
import { selects } from './vary.ts'
import { answerFrom, coversRange, presentationOf, toHeld, type Held } from './view.ts'
import type { Answer, Visit } from './visit.ts'

export interface ProxyOptions extends Omit<FetchOptions, 'store' | 'memory' | 'origin' | 'now'> {
  channels: Channels
  store: PageStore
  memory: MemoryTier
  origin: OriginClient
  now: Clock
  variants: VariantRules
  bypass: BypassRules
  ignoreQuery: readonly string[]
  invalidateOnUnsafe: UnsafeMode
  /** Told of faults in the background that no visitor sees. */
  onFault(message: string, error: unknown): void
}

/** Statuses for which a stale page may stand in (RFC 5861 §4). */
const serverErrors = new Set([500, 502, 503, 504])

/** How often a visitor waits for somebody else's fetch before asking for themselves. */
const mostWaits = 2

/** A visitor's request to an answer: from the cache where that is right, else from the shop. */
export class Proxy {
  readonly hot: HotPath
  readonly classifying: ClassifyOptions
  readonly #options: ProxyOptions
  readonly #fetcher: Fetcher
  readonly #passage: Passage
  readonly #unsafe: UnsafeInvalidation
  /** How many fetches of each URL are under way. */
  readonly #underWay = new Map<string, number>()
  readonly #flights: Flights<Held>
  readonly #uncacheable = new Uncacheable()
  readonly #bodies: Bodies

  constructor(options: ProxyOptions) {
    this.#options = options
    this.classifying = {
      channels: options.channels,
      canonical: canonicaliser(options.ignoreQuery),
      variants: options.variants,
      confirmations: options.confirmations,
      bypassCookies: options.bypass.cookies,
      bypassPath: pathBypass(options.bypass.paths),
    }
    this.#fetcher = new Fetcher(options)
    this.#unsafe = new UnsafeInvalidation({
      mode: options.invalidateOnUnsafe,
      store: options.store,
      classifying: this.classifying,
      isUnderWay: (url) => this.#underWay.has(url),
      onFault: options.onFault,
    })
    this.#passage = new Passage(options, this.#unsafe)
    this.#bodies = new Bodies({ ...options, budgets: inFlight })
    this.#flights = new Flights((fence) => options.store.holds(fence))
    this.hot = new HotPath(this.classifying, options.store, options.memory, options.now)
  }

  /** Answers a visit; never throws for what the shop does wrong. */
  async answer(visit: Visit): Promise<Answer> {
    const classified = classify(visit, this.classifying)
    if (classified.kind === 'unknown-site')
      return plainAnswer(421, `No sales channel is configured for ${visit.scheme}://${visit.host}.`)
    // The front answers its own endpoints before it asks here.
    if (classified.kind === 'own') return plainAnswer(404, 'The cache in front of the shop answers this path itself.')
    if (isLoop(visit.headers)) return loopAnswer()
    return withTrouble(() =>
      classified.kind === 'pass' ? this.#passage.pass(visit, classified) : this.#ask(classified.question),
    )
  }

  /** Hands a login that is the shop's own on to it, though the path is the daemon's (docs/decisions/0027-shop-logins.md). */
  async handOn(visit: Visit): Promise<Answer> {
    const classified = classify(visit, this.classifying)
    if (classified.kind !== 'own' || classified.channel === null) return this.answer(visit)
    const { channel, target, url } = classified
    if (isLoop(visit.headers)) return loopAnswer()
    return withTrouble(() => this.#passage.pass(visit, { channel, target, url, reason: 'a login of the shop' }))
  }

  async #ask(question: Question): Promise<Answer> {
    const { now } = this.#options
    for (let waits = 0; ; waits++) {
      let held = question.mayReuse ? this.find(question) : null
      if (held !== null && held.page.states.some((state) => question.states.includes(state))) {
        return this.#passage.pass(question.visit, {
          ...question,
          reason: 'a client state that the page must not be served to',
        })
      }
      const usable = held === null ? 'stale' : usability(held.page, now())
      if (held !== null && usable !== 'stale') {
        const answer = await this.#serve(question, held, this.#hit(held, usable === 'fresh' ? undefined : usable))
        if (answer !== null && usable === 'stale-while-revalidate') this.#revalidate(question, held)
        if (answer !== null) return answer
        // Its body is gone or damaged: a miss.
        held = null
      }
      if (question.onlyIfCached)
        return plainAnswer(504, 'The page is not in the cache, and the request allows nothing else.')
      if (question.visit.method === 'HEAD' && (held === null || !hasValidator(held.page)))
        return this.#passage.pass(question.visit, { ...question, reason: 'HEAD of a page that is not in the cache' })
      const flight = this.#mayShare(question) && waits < mostWaits ? this.#flights.join(flightKey(question)) : null
      if (flight === null) return this.#lead(question, held)
      const shared = await flight.outcome
      if (shared !== null && this.#answers(shared.page, question)) {
        const answer = await this.#serve(question, shared, {
          kind: 'forward',
          why: held === null ? 'miss' : 'stale',
          collapsed: true,
        })
        if (answer !== null) return answer
        // It was removed meanwhile: what comes now is asked for together, too.
        continue
      }
      // What could not be shared is asked for by each visitor, at once and not one behind the other.
      waits = mostWaits
    }
  }

  /**
   * The best page for a question, whatever its age; from memory, else from the index of the store. Its body is not looked at. Visitors
   * whose variants are not confirmed may read the shared page too, beside the one that they fill.
   */
  find(question: Question): Held | null {
    // Before memory is believed: what other processes have removed leaves it now.
    this.#options.store.poll()
    const shared = this.#find(question, question.sharedKey)
    if (
      question.key === question.sharedKey ||
      (shared !== null && usability(shared.page, this.#options.now()) === 'fresh')
    )
      return shared
    const own = this.#find(question, question.key)
    return own === null || (shared !== null && shared.page.cachedAt > own.page.cachedAt) ? shared : own
  }

  #find(question: Question, key: string): Held | null {
    const { store, memory } = this.#options
    const inMemory = newest(memory.get(key) ?? [], question, (held) => held.page)
    const stored = newest(store.find(key), question, (page) => page)
    if (stored === null || (inMemory !== null && inMemory.page.cachedAt >= stored.cachedAt)) return inMemory
    return toHeld(stored, {})
  }

  #mayShare(question: Question): boolean {
    return (
      question.mayReuse &&
      question.field('range') === null &&
      this.#uncacheable.reason(question.key, this.#options.now()) === null
    )
  }

  #answers(page: Page, question: Question): boolean {
    return (
      selects(page, question) &&
      !page.states.some((state) => question.states.includes(state)) &&
      coversRange(page, question.field('range'))
    )
  }

  /** Asks the origin on behalf of this visitor and of all who come to wait. */
  async #lead(question: Question, stale: Held | null): Promise<Answer> {
    const why = stale === null ? 'miss' : 'stale'
    try {
      const fetched = await this.#fly(question, stale)
      if (
        serverErrors.has(fetched.status) &&
        stale !== null &&
        mayServeStale(stale.page, 'error', this.#options.now())
      ) {
        const answer = await this.#serve(question, stale, this.#hit(stale, `stale-if-error ${fetched.status}`))
        if (answer !== null && fetched.kind === 'stream') discard(fetched.body)
        if (answer !== null) return answer
      }
      const outcome: Outcome = {
        kind: 'forward',
        why,
        status: fetched.status,
        ...(fetched.obstacle === null ? { stored: true } : { detail: fetched.obstacle }),
      }
      if (fetched.kind === 'stream')
        return {
          status: fetched.status,
          headers: [...fetched.headers, ['Cache-Status', cacheStatus(outcome)]],
          body: fetched.body,
          tags: fetched.tags,
        }
      const answer = await answerFrom(
        fetched.held,
        presentationOf(question.visit.method, question.field),
        this.#options.now(),
        outcome,
        this.#bodies,
        fetched.live,
      )
      if (answer !== null) return answer
      // Removed before it was sent.
      if (stale !== null) return await this.#lead(question, null)
      return await this.#passage.pass(question.visit, { ...question, reason: 'an invalidation came meanwhile' })
    } catch (error) {
      if (!(error instanceof OriginError) || stale === null || !this.#standsIn(stale, 'unreachable')) throw error
      const answer = await this.#serve(question, stale, this.#hit(stale, `stale, ${troubleText[error.trouble]}`))
      if (answer === null) throw error
      return answer
    }
  }

  #standsIn(stale: Held, trouble: OriginTrouble): boolean {
    return mayServeStale(stale.page, trouble, this.#options.now())
  }

  /** One fetch as a flight that others can join. */
  async #fly(question: Question, stale: Held | null, signal?: AbortSignal): Promise<Fetched> {
    const { store, now } = this.#options
    const fence = store.fence()
    // A page under another key is not this visitor's to renew.
    const validated = stale !== null && stale.page.key === question.key && hasValidator(stale.page) ? stale : null
    const flight = this.#mayShare(question) ? this.#flights.start(flightKey(question), fence) : null
    let shared: Held | null = null
    this.#underWay.set(question.url, (this.#underWay.get(question.url) ?? 0) + 1)
    try {
      const fetched = await this.#fetcher.fetch(question, validated, fence, signal)
      if (fetched.obstacle === null) this.#uncacheable.delete(question.key)
      // Only what a visitor without anything of their own gets says something about the page itself.
      else if (fetched.kind === 'stream' && isPlain(question))
        this.#uncacheable.add(question.key, fetched.obstacle, now())
      if (fetched.kind === 'held' && fetched.shareable && usability(fetched.held.page, now()) !== 'stale')
        shared = fetched.held
      if (serverErrors.has(fetched.status) && stale !== null && this.#standsIn(stale, 'error')) shared = stale
      return fetched
    } catch (error) {
      if (stale !== null && this.#standsIn(stale, 'unreachable')) shared = stale
      throw error
    } finally {
      flight?.settle(shared)
      const others = this.#underWay.get(question.url)! - 1
      if (others === 0) this.#underWay.delete(question.url)
      else this.#underWay.set(question.url, others)
    }
  }

  /** What unsafe requests have dropped since the proxy was built. */
  get unsafe(): UnsafeCounts {
    return this.#unsafe.counts
  }

  /** Stale-while-revalidate: fetches in the background, once however many visitors get the stale page (RFC 5861 §3). */
  #revalidate(question: Question, stale: Held): void {
    if (this.#flights.join(flightKey(question)) !== null) return
    const quiet: Question = { ...question, visit: { ...question.visit, method: 'GET', onInterim: () => {} } }
    this.#fly(quiet, stale).then(
      (fetched) => {
        if (fetched.kind === 'stream') discard(fetched.body)
      },
      (error: unknown) => {
        if (!(error instanceof OriginError)) this.#options.onFault(`revalidation of ${question.url} failed`, error)
      },
    )
  }

  #hit(held: Held, detail?: string): Outcome {
    return {
      kind: 'hit',
      ttl: (held.page.staleAt - this.#options.now()) / 1000,
      ...(detail === undefined ? {} : { detail }),
    }
  }

  /** Null where the body of the page is no longer there. */
  async #serve(question: Question, held: Held, outcome: Outcome): Promise<Answer | null> {
    const started = performance.now()
    const answer = await answerFrom(
      held,
      presentationOf(question.visit.method, question.field),
      this.#options.now(),
      outcome,
      this.#bodies,
    )
    if (answer !== null && outcome.kind === 'hit')
      this.#options.memory.countHit(held, performance.now() - started, this.#options.now())
    return answer
  }

  /** Why the last answer for a question could not be stored; null where nothing is known. */
  obstacle(question: Question): string | null {
    return this.#uncacheable.reason(question.key, this.#options.now())
  }

  /** Brings one page into the cache as a visitor's miss would. Resolves to null where somebody else just did. @throws OriginError */
  async warm(question: Question, signal: AbortSignal): Promise<Fetched | null> {
    const flight = this.#flights.join(flightKey(question))
    const shared = flight === null ? null : await flight.outcome
    if (shared !== null && this.#answers(shared.page, question)) return null
    return this.#fly(question, this.find(question), signal)
  }

  /** What the origin would say now, without storing it. @throws OriginError */
  probe(question: Question): Promise<{ status: number; obstacle: string | null }> {
    return this.#fetcher.probe(question)
  }
}

function loopAnswer(): Answer {
  return plainAnswer(
    508,
    'This request has come through here before: the origin of its sales channel leads back to the cache.',
  )
}

/** What the shop does wrong, as an answer. */
async function withTrouble(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof OriginError) return troubleAnswer(error)
    throw error
  }
}

function isPlain(question: Question): boolean {
  return (
    question.unkeyedCookies === null &&
    question.mayReuse &&
    !question.odd &&
    question.field('range') === null &&
    isUnremarkable(question)
  )
}

/** Visitors with other variants of a page wait for the same fetch: most pages have no variants, and the first answer tells. */
function flightKey(question: Question): string {
  return question.key
}

function newest<T>(candidates: readonly T[], question: Question, pageOf: (candidate: T) => Page): T | null {
  const range = question.visit.method === 'GET' ? question.field('range') : null
  let best: T | null = null
  for (const candidate of candidates) {
    const page = pageOf(candidate)
    if (!selects(page, question) || !coversRange(page, range)) continue
    if (best === null || page.cachedAt > pageOf(best).cachedAt) best = candidate
  }
  return best
}
