import type { Standing } from '../cluster/lease.ts'
import type { Clock } from '../lib/clock.ts'
import { oncePerTurn } from '../lib/once-per-turn.ts'
import type { MemoryEntry } from '../pages/memory-entry.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { Page } from '../pages/page.ts'
import type { PageStore } from '../pages/page-store.ts'
import { takesBrotli } from './accept-encoding.ts'
import { clientStates, cookieBypass, disguisedCookie, inAnySpelling, isEmptyFor } from './bypass.ts'
import type { Channel } from './channel.ts'
import { emptyAnswer } from './empty.ts'
import { parseCookies } from './fields.ts'
import type { Presentation } from './form.ts'
import { viewOf, type View } from './hot-views.ts'
import { canonicalUrl, primaryKey } from './key.ts'
import { pathBelow, type ClassifyOptions } from './lookup.ts'
import { reduced, searchMark, type SearchRule } from './no-vary-search.ts'
import { selects, type SelectingFields } from './vary.ts'

/**
 * The parts of a request that a cache hit depends on. `field` reads any other request field by its lower-case name,
 * lines combined.
 */
export interface HotRequest extends SelectingFields, Presentation {
  method: 'GET' | 'HEAD'
  scheme: string
  host: string
  target: string
  cookie: string | null
  /** Whether a storefront script sends the request, which is part of the key (`isScript`). */
  script: boolean
  /** Whether a trusted proxy has sent it. */
  fromProxy: boolean
  /** Null: the hot path serves no pages that vary by further cookies. */
  unkeyedCookies: null
}

/** A canonical URL with its primary key. */
interface KeyedUrl {
  url: string
  /** The primary key of a request without variants. */
  key: string
  channel: Channel
  path: string
  /** The rule by which the URL lacks parameters of the target. */
  search: SearchRule | null
  isEmpty: boolean
  isAsset: boolean
  isHidden: boolean
  isRemembered: boolean
}

/**
 * The most targets whose canonical form is cached, and the longest of them in characters. Longer ones are resolved each
 * time, so that clients cannot fill the memory.
 */
const mostUrls = 20_000
const longestUrl = 256

/** Milliseconds after a hit in which further ones are to be expected. */
const quietAfter = 100

/**
 * The hot path: finds a fresh page in memory, or loads a small one from the disk, without waiting. Returns null for
 * every unusual request, which `StorefrontCache.answer` then handles.
 */
export class HotPath {
  readonly #options: ClassifyOptions
  readonly #store: PageStore
  readonly #memory: MemoryTier
  readonly #now: Clock
  readonly #standing: (() => Standing) | undefined
  /** By scheme, host and target as they were sent; null: the hot path does not serve the URL. */
  readonly #urls = new Map<string, KeyedUrl | null>()
  /** Sees every invalidation that was acknowledged before this turn of the event loop began. */
  readonly #pollOfTurn: () => void
  /** When the last hit was served, in milliseconds since the epoch. */
  #servedAt = -Infinity
  readonly #tellingCookies: readonly string[]
  /** Finds those among them that PHP may read from another spelling (`disguisedCookie`), in any spelling. */
  readonly #disguised: RegExp | null

  constructor(options: ClassifyOptions, store: PageStore, memory: MemoryTier, now: Clock, standing?: () => Standing) {
    this.#options = options
    this.#store = store
    this.#pollOfTurn = oncePerTurn(() => store.poll())
    this.#memory = memory
    this.#now = now
    this.#standing = standing
    this.#tellingCookies = [
      'sw-states',
      'sw-cache-hash',
      ...options.variants.names,
      ...options.bypassCookies.map((name) => name.replace(/\*$/, '')),
    ]
    const disguisable = this.#tellingCookies.filter((name) => name.includes('_'))
    this.#disguised = disguisable.length === 0 ? null : new RegExp(disguisable.map(inAnySpelling).join('|'))
  }

  /**
   * The view to send; null when the request needs more than a memory lookup.
   *
   * @param beganEarlier whether the request had begun to arrive before this turn of the event loop
   */
  find(request: HotRequest, beganEarlier = false): View | null {
    const site = `${request.scheme}://${request.host}${request.target}`
    const keyed = this.#keyedUrl(request, site)
    if (keyed === null) return null
    if (keyed.isEmpty) return this.#empty(request)
    if (this.#standing !== undefined && this.#standing() !== 'confirmed') return null
    const selecting = this.#selecting(keyed, request)
    const key = this.#key(keyed, request, selecting)
    if (key === null) return null
    if (beganEarlier) this.#pollOfTurn()
    else this.#store.poll()
    const now = this.#now()
    const inMemory = this.#memory.get(key)
    const entries = inMemory ?? this.#load(key, request, selecting, now, beganEarlier)
    if (entries === null) return null
    let found: MemoryEntry | null = null
    for (const entry of entries) {
      // The regular path finds out whether a stored part covers the range.
      if (entry.page.range !== null && request.range !== null) return null
      if (!this.#mayServe(entry.page, selecting)) continue
      if (found === null || entry.page.cachedAt > found.page.cachedAt) found = entry
    }
    if (found === null || now >= found.page.staleAt || found.page.noCache) return null
    // Only pages that are served: a crawler's URLs must not fill the memory.
    if (!keyed.isRemembered) this.#remember(site, keyed)
    found.takesBrotli ||= takesBrotli(request.acceptEncoding)
    const view = viewOf(found, request, now, keyed.isHidden)
    if (view !== null) view.fromDisk = inMemory === undefined
    return view
  }

  /** Reads the page that a request selects from the disk, perhaps into memory; null where that takes time, or nothing is fresh. */
  #load(key: string, request: HotRequest, selecting: SelectingFields, now: number, beganEarlier: boolean) {
    // Not in `find`, which would then allocate for each hit what the function refers to.
    const read = () => this.#read(key, request, selecting, now)
    return beganEarlier ? this.#store.asOfTurn(read) : read()
  }

  #read(key: string, request: HotRequest, selecting: SelectingFields, now: number): readonly MemoryEntry[] | null {
    const read = this.#store.readPage(key, (pages) => {
      if (request.range !== null && pages.some((page) => page.range !== null)) return null
      const page = pages.find((each) => this.#mayServe(each, selecting))
      if (page === undefined || page.fragments !== undefined) return null
      return now >= page.staleAt || page.noCache || !this.#memory.takes(page.size) ? null : page
    })
    return read === null ? null : [this.#memory.set(read.page, read.page.encoding, read.body)]
  }

  /** Counts a hit and the time it took, in milliseconds. */
  count(view: View, ms: number): void {
    this.noteHit()
    if (view.entry !== null) this.#memory.countHit(view.entry, ms, this.#servedAt)
  }

  /** Notes that a hit is served, here or after waiting. */
  noteHit(): void {
    this.#servedAt = this.#now()
  }

  /** Whether no hit was served lately: then other work may take longer at a time. */
  get isQuiet(): boolean {
    return this.#now() - this.#servedAt > quietAfter
  }

  /** The answer to a path of `cache.emptyPaths`; null for visitors that the shop has to answer. */
  #empty({ cookie }: HotRequest): View | null {
    const isEmpty = !this.#identifies(cookie) || isEmptyFor(parseCookies(cookie), this.#options)
    return isEmpty ? { ...emptyAnswer(this.#now()), entry: null, bytes: null, sends: 0, fromDisk: false } : null
  }

  /** Whether any cookie may decide about the answer. */
  #identifies(cookie: string | null): boolean {
    if (cookie === null) return false
    return this.#tellingCookies.some((name) => cookie.includes(name)) || this.#mayBeDisguised(cookie)
  }

  /** Quicker than a look at each name: most visitors' cookies are spelt as they are set. */
  #mayBeDisguised(cookie: string): boolean {
    return cookie.includes('[') || this.#disguised?.test(cookie) === true
  }

  #keyedUrl(request: HotRequest, site: string): KeyedUrl | null {
    const known = this.#urls.get(site)
    if (known !== undefined && !this.#isOutdated(known)) return known
    const found = this.#locate(request)
    if (found === null || found.isEmpty) this.#remember(site, found)
    return found
  }

  #remember(site: string, keyed: KeyedUrl | null): void {
    if (site.length > longestUrl) return
    if (this.#urls.size >= mostUrls) this.#urls.clear()
    this.#urls.set(site, keyed)
    if (keyed !== null) keyed.isRemembered = true
  }

  /** Whether the shop has since said something else about the parameters of its path. */
  #isOutdated(keyed: KeyedUrl | null): boolean {
    return keyed !== null && (this.#options.search?.get(keyed.channel, keyed) ?? null) !== keyed.search
  }

  #locate(request: HotRequest): KeyedUrl | null {
    const target = this.#options.canonical(request.target)
    const { channels } = this.#options
    const channel = channels.find(request.scheme, request.host, target.path)
    if (channel === null || channels.ownPath(request.scheme, request.host, target.path) !== null) return null
    const path = pathBelow(channel, target)
    const isEmpty = target.query === '' && this.#options.emptyPath(path)
    if (!isEmpty && this.#options.bypassPath(path)) return null
    const search = this.#options.search?.get(channel, target) ?? null
    const url = canonicalUrl(channel, search === null ? target : reduced(target, search))
    return {
      channel,
      path: target.path,
      search,
      url,
      key: `${channel.id} ${url}${searchMark(search)}`,
      isEmpty,
      isAsset: this.#options.assetPath(path),
      isHidden: this.#options.hiddenPath(path),
      isRemembered: false,
    }
  }

  /** The request, with visitors' classes in place of the fields that they replace. */
  #selecting({ isAsset }: KeyedUrl, request: HotRequest): SelectingFields {
    const { classes } = this.#options.variants
    if (classes.fields.length === 0) return request
    const field = (name: string) => request.field(name)
    const cookies = parseCookies(isAsset ? null : request.cookie)
    const found = classes.classesOf({ field, cookies, isTrusted: request.fromProxy })
    return { field: classes.reader(found, field), unkeyedCookies: null }
  }

  #key(keyed: KeyedUrl, request: HotRequest, selecting: SelectingFields): string | null {
    const { variants } = this.#options
    const cookie = keyed.isAsset ? null : request.cookie
    const identifying = this.#identifies(cookie)
    if (!identifying && !request.script && variants.headers.length === 0) return keyed.key
    const cookies = parseCookies(identifying ? cookie : null)
    const bypass = { cookies: this.#options.bypassCookies }
    if (cookieBypass(cookies, bypass) !== null || clientStates(cookies).length > 0) return null
    if (identifying && this.#mayBeDisguised(cookie!) && disguisedCookie(cookies, variants, bypass) !== null) return null
    const key = primaryKey(keyed.channel, keyed.url, variants, cookies, (name) => selecting.field(name))
    return key === null ? null : `${key}${searchMark(keyed.search)}`
  }

  #mayServe(page: Page, request: SelectingFields): boolean {
    if (page.range !== null) return false
    for (const name in page.vary) {
      // The regular path sorts and compares cookies outside the key.
      if (name === 'cookie') return false
    }
    return selects(page, request)
  }
}
