import type { Clock } from '../lib/clock.ts'
import type { MemoryEntry, MemoryTier } from '../pages/memory-tier.ts'
import type { Encoding, HeaderPair, Page } from '../pages/page.ts'
import type { PageStore } from '../pages/page-store.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import { clientStates, cookieBypass } from './bypass.ts'
import { matchesEntityTag } from './conditional.ts'
import { fieldValue, parseCookies } from './fields.ts'
import { ageAt } from './freshness.ts'
import { inFlight } from './in-flight.ts'
import { canonicalUrl, primaryKey } from './key.ts'
import type { ClassifyOptions } from './question.ts'
import { selects, type Selecting } from './vary.ts'
import { encodingFor, viewHeaders } from './view.ts'

/** What a hit is looked up by. `field` reads any further request field by its lower-case name, lines combined. */
export interface HotRequest extends Selecting {
  scheme: string
  host: string
  target: string
  cookie: string | null
  acceptEncoding: string | null
  ifNoneMatch: string | null
  /** Whether a storefront's script asks, which is part of the key (`isScript`). */
  script: boolean
  /** Pages that vary by further cookies are none for the hot path. */
  unkeyedCookies: null
}

/** A page as one coding of it is sent during one second. */
export interface View {
  status: number
  headers: HeaderPair[]
  body: Buffer
  entry: MemoryEntry
  /** For whoever renders views into bytes, to keep them as long as the view is good. */
  bytes: Buffer | null
}

interface Place {
  channelId: string
  url: string
  /** The primary key of a request without variants. */
  key: string
}

/** Targets whose canonical form is remembered; longer ones are worked out each time, so that nobody can fill the memory with them. */
const mostPlaces = 20_000
const longestPlace = 256

/**
 * The hot path: a fresh page in memory, found without waiting, allocating or asking the disk. Whatever is out of the ordinary
 * gives null, and the proxy's `answer` decides.
 */
export class HotPath {
  readonly #options: ClassifyOptions
  readonly #store: PageStore
  readonly #memory: MemoryTier
  readonly #now: Clock
  readonly #places = new Map<string, Place | null>()
  readonly #views = new WeakMap<MemoryEntry, Map<Encoding, { second: number; view: View }>>()
  #polled = false
  readonly #tellingCookies: readonly string[]

  constructor(options: ClassifyOptions, store: PageStore, memory: MemoryTier, now: Clock) {
    this.#options = options
    this.#store = store
    this.#memory = memory
    this.#now = now
    this.#tellingCookies = [
      'sw-states',
      'sw-cache-hash',
      ...options.variants.cookies,
      ...options.bypassCookies.map((name) => name.replace(/\*$/, '')),
    ]
  }

  /** The view to be sent; null where the request needs more than a look into memory. */
  find(request: HotRequest): View | null {
    const place = this.#place(request)
    if (place === null) return null
    const key = this.#key(place, request)
    if (key === null) return null
    this.#poll()
    const entries = this.#memory.get(key)
    if (entries === undefined) return null
    const now = this.#now()
    let found: MemoryEntry | null = null
    for (const entry of entries) {
      if (!this.#mayServe(entry.page, request)) continue
      if (found === null || entry.page.cachedAt > found.page.cachedAt) found = entry
    }
    if (found === null || now >= found.page.staleAt || found.page.noCache) return null
    if (request.ifNoneMatch !== null && matchesEntityTag(request.ifNoneMatch, fieldValue(found.page.headers, 'etag')))
      return null
    return this.#view(found, encodingFor(found.page, request.acceptEncoding), now)
  }

  /** Counts a hit and the time that it took, in milliseconds. */
  count(view: View, ms: number): void {
    this.#memory.countHit(view.entry, ms, this.#now())
  }

  /**
   * Asks the store once for all requests of one turn of the event loop: what is answered in a turn had arrived when it began, so that
   * no invalidation can have been answered before any of them was sent that the poll does not see.
   */
  #poll(): void {
    if (this.#polled) return
    this.#polled = true
    setImmediate(this.#forgetPoll)
    this.#store.poll()
  }

  readonly #forgetPoll = () => {
    this.#polled = false
  }

  #place(request: HotRequest): Place | null {
    const site = `${request.scheme}://${request.host}${request.target}`
    const known = this.#places.get(site)
    if (known !== undefined) return known
    const place = this.#locate(request)
    if (site.length > longestPlace) return place
    if (this.#places.size >= mostPlaces) this.#places.clear()
    this.#places.set(site, place)
    return place
  }

  #locate(request: HotRequest): Place | null {
    const target = this.#options.canonical(request.target)
    const { channels } = this.#options
    const channel = channels.find(request.scheme, request.host, target.path)
    if (
      channel === null ||
      channels.ownPath(request.scheme, request.host, target.path) !== null ||
      this.#options.bypassPath(target.path.slice(channel.path.length) || '/')
    )
      return null
    const url = canonicalUrl(channel, target)
    return { channelId: channel.id, url, key: `${channel.id} ${url}` }
  }

  #key(place: Place, request: HotRequest): string | null {
    const { variants } = this.#options
    const cookie = request.cookie
    const telling = cookie !== null && this.#tellingCookies.some((name) => cookie.includes(name))
    if (!telling && !request.script && variants.headers.length === 0) return place.key
    const cookies = parseCookies(telling ? cookie : null)
    if (cookieBypass(cookies, { cookies: this.#options.bypassCookies }) !== null || clientStates(cookies).length > 0)
      return null
    const channel = this.#options.channels.all.find((each) => each.id === place.channelId)!
    return primaryKey(channel, place.url, variants, cookies, (name) => request.field(name))
  }

  #mayServe(page: Page, request: HotRequest): boolean {
    if (page.range !== null) return false
    for (const name in page.vary) {
      // Cookies beyond the key are sorted and compared by the long way.
      if (name === 'cookie') return false
    }
    return selects(page, request)
  }

  #view(entry: MemoryEntry, encoding: Encoding, now: number): View | null {
    const body = entry.bodies[encoding]
    if (body === undefined || entry.page.status === 204) return null
    // Large ones are sent in pieces while many readers are slow.
    if (body.length > pieceSize && inFlight.bodies.crowded) return null
    const second = Math.floor(ageAt(entry.page, now))
    let views = this.#views.get(entry)
    if (views === undefined) this.#views.set(entry, (views = new Map()))
    const known = views.get(encoding)
    if (known !== undefined && known.second === second) return known.view
    const headers = viewHeaders(entry.page, encoding, body.length, now, {
      kind: 'hit',
      ttl: (entry.page.staleAt - now) / 1000,
    })
    const view = { status: entry.page.status, headers, body, entry, bytes: null }
    views.set(encoding, { second, view })
    return view
  }
}
