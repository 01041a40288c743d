import { Gate } from '../../lib/gate.ts'
import type { PageDraft } from '../../pages/page.ts'
import type { PurgeClock, PurgeTime } from '../clock.ts'
import { noCounts, type SharedPageCounts } from './counts.ts'
import { examine, type ServerHealth } from './health.ts'
import { Locks, type Lock } from './locks.ts'
import { fieldOf, nameOf } from './names.ts'
import { readField } from './scripts.ts'
import { Server, type ServerOptions } from './server.ts'
import { decode, largestValue, type SharedPage, type SharedValue } from './value.ts'
import { Writer, type WriterOptions } from './writer.ts'

/** What a visitor wants. */
export interface Wanted {
  key: string
  url: string
  /** The secondary key of the request, for the fields that a page varies by. */
  vary(names: readonly string[]): PageDraft['vary']
}

/** What a look at the shared pages found. */
export type Look =
  | { kind: 'page'; page: SharedPage }
  /** `expired`: not fresh any more. `purged`: a purge since its fetch selects it. `invalid`: not as a node wrote it. */
  | { kind: 'missing' | 'expired' | 'purged' | 'invalid' }
  | { kind: 'unavailable'; why: string }

/** A page, or the permission to fetch it, which must be released. */
export type Obtained = { kind: 'page'; page: SharedPage } | { kind: 'fetch'; release(): void }

export interface SharedPagesOptions extends ServerOptions, WriterOptions {
  clock: PurgeClock
  /** How long this node waits for other nodes while none of their fetches ends, in milliseconds. */
  waitFor?: number
}

/** How many looks are made at a time: each may bring a value of the largest size. */
const mostLooks = 64
/** How many looks wait behind them. */
const mostWaiting = 4_096
/** How often the hits are added to those of the other nodes, in milliseconds. */
const countEvery = 2_000

/**
 * The pages that any node has fetched, in Redis or Valkey. Whatever happens to them, pages come from the shop instead, and a page that
 * was purged since its fetch is never returned (docs/decisions/0118-shared-pages.md).
 */
export class SharedPages {
  readonly counts: SharedPageCounts = noCounts()
  readonly #options: SharedPagesOptions
  readonly #server: Server
  readonly #locks: Locks
  readonly #writer: Writer
  readonly #gate = new Gate(mostLooks)
  readonly #timer: NodeJS.Timeout
  #looks = 0
  #counted = 0

  constructor(options: SharedPagesOptions) {
    this.#options = options
    this.#server = new Server(options)
    this.#locks = new Locks(this.#server, options.waitFor)
    this.#writer = new Writer(this.#server, options, this.counts)
    this.#timer = setInterval(() => void this.#count(), countEvery)
    this.#timer.unref()
  }

  /** The server, without credentials. */
  get name(): string {
    return this.#server.name
  }

  /** Resolves when the first attempt to connect has ended. For operators: no visitor waits for it. */
  ready(): Promise<void> {
    return this.#server.ready()
  }

  /** Why pages are not read or written; null while they are. */
  get faults(): { read: string | null; write: string | null } {
    return this.#server.faults
  }

  /** @throws Error when the server does not answer or refuses */
  examine(): Promise<ServerHealth> {
    return examine(this.#server)
  }

  /** The value of the purge clock for a fetch that begins now; null when its page must not be shared. */
  clock(): PurgeTime | null {
    return this.#options.clock.now()
  }

  /**
   * Returns the page for a request, or permission to fetch it. While another node fetches the page, waits until no awaited fetch has ended for a second.
   * @param accepts whether a page answers the request
   */
  async obtain(wanted: Wanted, accepts: (draft: PageDraft) => boolean): Promise<Obtained> {
    const answer = (look: Look) => (look.kind === 'page' && accepts(look.page.draft) ? look.page : null)
    const first = await this.look(wanted)
    let page = answer(first)
    if (page !== null) return this.#hit(page)
    if (first.kind === 'invalid') this.counts.invalid += 1
    // A page for other visitors: nothing is gained by waiting for another one.
    if (first.kind === 'page' || first.kind === 'unavailable') return this.#miss(null)
    // Another node may have written the page after the first look, and released its lock since.
    const [lock, second] = await Promise.all([this.#lock(wanted.key), this.look(wanted)])
    page = answer(second)
    if (page !== null) return this.#hit(page, lock)
    if (lock !== 'taken') return this.#miss(lock)
    this.counts.waits += 1
    await this.#locks.end(wanted.key)
    page = answer(await this.look(wanted))
    return page === null ? this.#miss(null) : this.#hit(page)
  }

  /** Null: without a lock everybody fetches. */
  async #lock(key: string): Promise<Lock | 'taken' | null> {
    try {
      return (await this.#locks.take(key)) ?? 'taken'
    } catch {
      return null
    }
  }

  #hit(page: SharedPage, lock: Lock | 'taken' | null = null): Obtained {
    this.counts.hits += 1
    if (lock !== 'taken') this.#release(lock)
    return { kind: 'page', page }
  }

  #miss(lock: Lock | null): Obtained {
    this.counts.misses += 1
    return { kind: 'fetch', release: () => this.#release(lock) }
  }

  #release(lock: Lock | null): void {
    if (lock !== null) this.#writer.later(() => lock.release())
  }

  /** Looks for a page. Never throws. @param isOrdered false for an operator without a purge clock: purges are not considered */
  async look(wanted: Wanted, isOrdered = true): Promise<Look> {
    try {
      const found = await this.#find(wanted)
      return found.kind === 'page' ? await this.#judge(this.#adjust(found.page), isOrdered) : found
    } catch (error) {
      this.counts.unavailable += 1
      return { kind: 'unavailable', why: error instanceof Error ? error.message : String(error) }
    }
  }

  async #judge(page: SharedPage, isOrdered: boolean): Promise<Look> {
    const { now, clock } = this.#options
    if (page.draft.noCache || page.draft.staleAt <= now()) return { kind: 'expired' }
    const isCurrent = !isOrdered || (await clock.admits(page.clock, page.draft))
    return isCurrent ? { kind: 'page', page } : { kind: 'purged' }
  }

  /** A page as this machine sees it, whose clock may be behind that of the node that fetched it. */
  #adjust(page: SharedPage): SharedPage {
    const { cachedAt, staleAt, deleteAt } = page.draft
    const ahead = cachedAt - this.#options.now()
    if (ahead <= 0) return page
    return {
      ...page,
      draft: { ...page.draft, cachedAt: cachedAt - ahead, staleAt: staleAt - ahead, deleteAt: deleteAt - ahead },
    }
  }

  async #find({ url, key, vary }: Wanted): Promise<Look> {
    const first = await this.#read(url, key)
    const value = first?.kind === 'vary' ? await this.#read(url, nameOf({ key, vary: vary(first.names) })) : first
    if (value === undefined) return { kind: 'missing' }
    if (value?.kind === 'page' && value.draft.key === key) return { kind: 'page', page: value }
    return { kind: 'invalid' }
  }

  /** A value; undefined where there is none, null for one that no node wrote under this name. */
  async #read(url: string, name: string): Promise<SharedValue | null | undefined> {
    if (this.#looks >= mostLooks + mostWaiting) throw new Error('too many looks at the shared pages')
    this.#looks += 1
    try {
      const { secret, pages } = this.#server.names('read')
      const look = () => this.#server.script(readField, pages(url), fieldOf(name), String(largestValue))
      const reply = await this.#gate.pass(look)
      return reply === null ? undefined : Buffer.isBuffer(reply) ? decode(reply, name, secret) : null
    } catch (error) {
      // A key of somebody else.
      if (error instanceof Error && error.message.includes('WRONGTYPE')) return null
      throw error
    } finally {
      this.#looks -= 1
    }
  }

  /** Offers a page to the other nodes, in the background. `clock`: taken before its fetch began. */
  write(draft: PageDraft, body: Buffer, clock: PurgeTime): void {
    this.#writer.add({ draft, body, clock })
  }

  /** Deletes the pages of URLs that a visitor has changed. While Redis fails they stay until they expire: no purge depends on this. */
  async forget(urls: readonly string[]): Promise<void> {
    try {
      const { pages } = this.#server.names('write')
      await this.#server.run('write', ['DEL', ...urls.map(pages)])
    } catch {
      // See above.
    }
  }

  /** Whether pages can be read, and the hits of all nodes as far as Redis knows them. */
  async statistics(): Promise<{ usable: boolean; hits: number | null }> {
    await this.ready()
    try {
      const hits = await this.#server.run('read', ['HGET', this.#server.names('read').counters, 'hits'])
      return { usable: true, hits: Number(hits ?? 0) }
    } catch {
      return { usable: false, hits: null }
    }
  }

  async #count(): Promise<void> {
    const more = this.counts.hits - this.#counted
    if (more === 0) return
    try {
      await this.#server.run('write', ['HINCRBY', this.#server.names('write').counters, 'hits', String(more)])
      this.#counted += more
    } catch {
      // Added next time.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all([this.#writer.finish(), this.#count()])
    this.#locks.close()
    this.#server.close()
  }
}
