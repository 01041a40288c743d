import { LRUCache } from 'lru-cache'
import type { Obtained, SharedPages } from '../cluster/shared/shared-pages.ts'
import type { Clock } from '../lib/clock.ts'
import { SteadyMap, SteadySet } from '../lib/steady-map.ts'
import type { Page } from '../pages/page.ts'
import type { PageStore } from '../pages/page-store.ts'
import { searchTagOf, searchTags } from '../pages/search-tags.ts'
import { isPlain, obstacleIn, passingErrors } from './after-waiting.ts'
import { directivesOf } from './cache-control.ts'
import { Flights, Refused, Uncacheable, type Flight, type Outcome } from './coalesce.ts'
import type { Fetcher } from './fetch.ts'
import { digest } from './ledger.ts'
import type { Warming } from './fetch-options.ts'
import { mayStoreLater, withoutCookies, type Fetched } from './fetched.ts'
import { mayServeStale, serverErrors, usability, type StaleReason, type Freshness } from './freshness.ts'
import { withoutVisitor, type Lookup } from './lookup.ts'
import { dynamicBypass } from './may-store.ts'
import { otherSearch, type SearchRules } from './no-vary-search.ts'
import { OriginError } from './origin.ts'
import { hasValidator } from './validation.ts'
import { selects } from './vary.ts'
import type { HeldPage } from './view.ts'
import { Waiters } from './waiters.ts'
import { wantedBy } from './wanted.ts'

/** How long requests are not coalesced after a response that says little about the next one, in milliseconds. */
const briefly = 1000

/** Pages whose failed renewals are remembered. */
const mostResting = 10_000

/** Statuses of a page that the shop no longer has; others of 400 and above may be about the visitor. */
const goneStatuses = new Set([404, 410])

interface SharedOptions {
  store: PageStore
  now: Clock
  search: SearchRules
  /** The pages of other nodes; null for a single node. */
  shared: SharedPages | null
}

/** Why a page from the cache ends a fetch, in `Cache-Status`. */
export const fromOtherNode = 'fetched by another node'
export const staleIfError = (status: number) => `stale-if-error ${status}`

/** A page that visitors who waited for a fetch get. */
interface Landed {
  held: HeldPage
  /** Why the cache had it; null for a page that the shop has just sent. */
  hit: string | null
}

/** Fetches pages so that concurrent visitors share one fetch. */
export class SharedFetches {
  readonly #fetcher: Fetcher
  readonly #options: SharedOptions
  /** Number of fetches under way, by URL and by search tag. */
  readonly #underWay = new SteadyMap<string, number>()
  readonly #flights: Flights<Landed>
  readonly #uncacheable = new Uncacheable()
  readonly #refused = new Refused()
  /** The pages that are renewed in the background. */
  readonly #renewing = new SteadySet<string>()
  /** Until when pages are not renewed in the background, because that has just failed; by a digest of their names. */
  readonly #resting = new LRUCache<string, number>({ max: mostResting })

  constructor(fetcher: Fetcher, options: SharedOptions) {
    this.#fetcher = fetcher
    this.#options = options
    this.#flights = new Flights((fence) => options.store.holds(fence))
  }

  /**
   * The fetch of this page that is under way, if any. Visitors with different Vary values join it too: most pages do not vary, and the
   * response tells.
   *
   * @param name see `nextFetch`
   */
  join(lookup: Lookup, name = lookup.key): Flight<Landed> | null {
    return this.#flights.join(name)
  }

  /** Whether other visitors may wait for a fetch of this page. */
  mayShare(lookup: Lookup): boolean {
    return (
      lookup.mayReuse &&
      lookup.field('range') === null &&
      this.#uncacheable.reason(lookup.key, this.#options.now()) === null
    )
  }

  /** Fetches a page. @param name by which other visitors can join (`nextFetch`); null: they cannot */
  async fetch(
    lookup: Lookup,
    held: HeldPage | null,
    { warming, name = lookup.key }: { warming?: Warming; name?: string | null } = {},
  ): Promise<Fetched> {
    const { store, shared } = this.#options
    let fence = store.fence()
    let stale = held
    const waiters = warming === undefined ? new Waiters() : null
    waiters?.add(lookup.visit.signal)
    const flight = name !== null && this.mayShare(lookup) ? this.#flights.start(name, fence, waiters) : null
    let outcome: Outcome<Landed> = { kind: 'abandoned' }
    let obtained: Obtained | null = null
    const names = this.#enter(lookup)
    try {
      if (shared !== null && this.#mayObtain(lookup, warming)) obtained = await this.#obtain(lookup, shared)
      const page = obtained?.kind === 'page' ? obtained.page : null
      const adopted = page && (await this.#fetcher.adopt(lookup, page, fence, warming !== undefined))
      if (page !== null && adopted === null) {
        // Visitors who come after the purge may join from now on: they must get neither the adopted nor the stale page.
        fence = store.fence()
        stale = null
        flight?.restart(fence)
      }
      const fetched =
        adopted ??
        (await this.#fetcher.fetch(lookup, toValidate(lookup, stale), {
          fence,
          warming,
          waiters,
          outlasts: this.#outlasts(stale),
        }))
      this.#learn(lookup, fetched)
      this.#noteWhyNotStored(lookup, fetched, stale)
      outcome = this.#outcome(lookup, fetched, stale)
      return lookup.isAsset ? withoutCookies(fetched) : fetched
    } catch (error) {
      if (error instanceof OriginError && warming?.signal.aborted !== true) outcome = { kind: 'failed', error }
      throw error
    } finally {
      if (obtained?.kind === 'fetch') obtained.release()
      waiters?.end()
      flight?.settle(outcome)
      for (const each of names) this.#leave(each)
    }
  }

  /** What waiting visitors get of a fetch that the shop has answered. */
  #outcome(lookup: Lookup, fetched: Fetched, stale: HeldPage | null): Outcome<Landed> {
    if (serverErrors.has(fetched.status) && this.standsIn(lookup, stale, 'error'))
      return { kind: 'page', page: { held: stale, hit: staleIfError(fetched.status) } }
    if (fetched.kind !== 'held' || !fetched.shareable)
      return { kind: 'unshareable', obstacle: obstacleIn(lookup, fetched) }
    const isStale = usability(fetched.held.page, this.#options.now()) === 'stale'
    if (isStale) return { kind: 'unshareable', obstacle: 'response' }
    return { kind: 'page', page: { held: fetched.held, hit: fetched.isShared === true ? fromOtherNode : null } }
  }

  /** Whether the page of another node may answer. */
  #mayObtain(lookup: Lookup, warming: Warming | undefined): boolean {
    return !lookup.odd && warming?.force !== true && this.mayShare(lookup)
  }

  #obtain(lookup: Lookup, shared: SharedPages): Promise<Obtained> {
    return shared.obtain(
      wantedBy(lookup),
      (page) => selects(page, lookup) && !page.states.some((state) => lookup.states.includes(state)),
    )
  }

  /** Fetches a stale page in the background; null while that is under way, or has just failed. Fetches that cannot be joined must not add up either. */
  renew(lookup: Lookup, stale: HeldPage): Promise<Fetched> | null {
    const isWhole = stale.page.range === null
    const name = `${lookup.key}\n${isWhole ? '' : lookup.field('range')}`
    if (this.join(lookup) !== null || this.#renewing.has(name) || this.#rests(name)) return null
    this.#renewing.add(name)
    // A shop that fails is not asked again for each visit to a stale page.
    let isFailure = true
    return this.fetch(withoutVisitor(lookup, isWhole), stale)
      .then((fetched) => {
        isFailure = passingErrors.has(fetched.status)
        return fetched
      })
      .finally(() => {
        this.#renewing.delete(name)
        if (isFailure) this.#resting.set(digest(name), this.#options.now() + briefly)
      })
  }

  #rests(name: string): boolean {
    return this.#resting.size > 0 && (this.#resting.get(digest(name)) ?? 0) > this.#options.now()
  }

  /** How a page may be used for a lookup. While it is renewed, it must not be served if the shop has since refused to have it stored. */
  usability(lookup: Lookup, page: Page): Freshness {
    const use = usability(page, this.#options.now())
    if (use !== 'stale-while-revalidate') return use
    const refused = this.notStored(lookup)
    if (refused !== null && refused !== dynamicBypass) return 'stale'
    return this.#refused.covers(lookup.key, page) ? 'stale' : use
  }

  /** Whether the shop no longer has a page stored. What it says to a visitor with a session counts only where it says so plainly. */
  #isRefusal(lookup: Lookup, fetched: Fetched, stale: HeldPage | null): boolean {
    if (stale === null || lookup.odd || fetched.notStored === null || fetched.notStored === dynamicBypass) return false
    if (mayStoreLater(fetched.notStored) || passingErrors.has(fetched.status)) return false
    if (isPlain(lookup) && (fetched.kind === 'stream' || isPrivateTemplate(fetched))) return true
    const directives = directivesOf(fetched.kind === 'stream' ? fetched.headers : fetched.live)
    return (directives.private || directives.noStore) && (fetched.status < 400 || goneStatuses.has(fetched.status))
  }

  /** Whether a stale page may replace a failed fetch: not after the shop refused to have it stored. */
  standsIn(lookup: Lookup, stale: HeldPage | null, reason: StaleReason): stale is HeldPage {
    if (stale === null || this.#refused.covers(lookup.key, stale.page)) return false
    return mayServeStale(stale.page, reason, this.#options.now())
  }

  /** Whether an error left visitors with a stale page: it says nothing about whether the page may be stored. */
  #isFailure({ status }: Fetched, stale: HeldPage | null): boolean {
    return passingErrors.has(status) && this.#outlasts(stale)
  }

  /** Whether visitors may get a stale page while the shop answers with errors. */
  #outlasts(stale: HeldPage | null): boolean {
    if (stale === null) return false
    const now = this.#options.now()
    return mayServeStale(stale.page, 'error', now) || usability(stale.page, now) === 'stale-while-revalidate'
  }

  /** Whether a page that may answer this URL is being fetched. */
  isUnderWay(url: string): boolean {
    return this.#underWay.has(url) || this.#underWay.has(searchTagOf(url) ?? '')
  }

  /** Whether the rule of a lookup still holds. */
  isCurrent({ channel, target, search }: Lookup): boolean {
    return this.#options.search.get(channel, target) === search
  }

  /** Counts a fetch under its names. */
  #enter({ search, url }: Lookup): string[] {
    const names = search === null ? [url] : [url, ...searchTags(url)]
    for (const name of names) this.#underWay.set(name, (this.#underWay.get(name) ?? 0) + 1)
    return names
  }

  #leave(name: string): void {
    const others = this.#underWay.get(name)! - 1
    if (others === 0) this.#underWay.delete(name)
    else this.#underWay.set(name, others)
  }

  /** Remembers pages that the shop refuses to have stored, and those that must not be stored. */
  #noteWhyNotStored(lookup: Lookup, fetched: Fetched, stale: HeldPage | null): void {
    const now = this.#options.now()
    const { notStored } = fetched
    if (notStored === null) this.#refused.delete(lookup.key)
    else if (this.#isRefusal(lookup, fetched, stale)) this.#refused.add(lookup.key, now)
    if (notStored === null || mayStoreLater(notStored)) this.#uncacheable.delete(lookup.key)
    // Only the response to a request without personal parts says something about the page itself.
    else if (
      (fetched.kind === 'stream' || isPrivateTemplate(fetched)) &&
      isPlain(lookup) &&
      !this.#isFailure(fetched, stale)
    ) {
      const isBrief = notStored === dynamicBypass || passingErrors.has(fetched.status)
      this.#uncacheable.add(lookup.key, notStored, now, isBrief ? briefly : undefined)
    }
  }

  /** Remembers which parameters the shop ignores. */
  #learn({ channel, target }: Lookup, fetched: Fetched): void {
    const { search } = this.#options
    if (fetched.notStored === otherSearch) search.forget(channel, target)
    else if (fetched.notStored === null && fetched.kind === 'held' && fetched.held.page.status === 200)
      search.learn(channel, target, fetched.held.page.headers)
  }

  /** Why the last response to a lookup could not be stored; null when unknown. */
  notStored(lookup: Lookup): string | null {
    return this.#uncacheable.reason(lookup.key, this.#options.now())
  }
}

/** A page under another key must not be renewed by this visitor. */
function toValidate(lookup: Lookup, stale: HeldPage | null): HeldPage | null {
  return stale !== null && stale.page.key === lookup.key && hasValidator(stale.page) ? stale : null
}

/** Whether a page with ESI markup may not be shared. */
function isPrivateTemplate(fetched: Fetched & { kind: 'held' }): boolean {
  return !fetched.shareable && fetched.held.page.fragments !== undefined
}
