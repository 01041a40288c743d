import { setTimeout as pause } from 'node:timers/promises'
import type { SharedPage } from '../cluster/shared/value.ts'
import { compact } from '../lib/buffers.ts'
import type { Encoding, Page, PageDraft } from '../pages/page.ts'
import { unconfirmedMark } from '../pages/page-row.ts'
import type { Fence, Rejection } from '../pages/page-store.ts'
import type { FetchOptions, OriginFetch } from './fetch-options.ts'
import { rejections, unstored, type Fetched } from './fetched.ts'
import type { Lookup } from './lookup.ts'
import { encodingFor, toHeldPage, type HeldPage } from './view.ts'

/** How long a visitor waits for a busy store with a revalidated or large page, in milliseconds. It may still be stored. */
const busyFor = 500

type FetchedAt = Pick<OriginFetch, 'fence' | 'clock' | 'patient'>

/** Gives fetched pages to the page store, the memory tier and the other nodes. */
export class Keeper {
  readonly #options: Pick<FetchOptions, 'store' | 'memory' | 'shared'>

  constructor(options: Pick<FetchOptions, 'store' | 'memory' | 'shared'>) {
    this.#options = options
  }

  /** Stores a page. Resolves to the reason if the store rejects it, or takes longer than a visitor should wait. */
  async keep(draft: PageDraft, body: Buffer, fetched: FetchedAt): Promise<Page | string> {
    const page = await this.#store(draft, body, fetched.fence, fetched.patient)
    if (typeof page === 'string') return rejections[page]
    this.#share(page, body, fetched)
    return page
  }

  /** A body too large for memory is sent from its file, which must exist. */
  #store(draft: PageDraft, body: Buffer, fence: Fence, patient: boolean): Promise<Page | Rejection> {
    const { store, memory } = this.#options
    if (!patient && memory.takes(body.length)) return store.take(draft, body, fence)
    return this.#soon(store.put(draft, body, fence, patient), patient)
  }

  /** Renews a stored page after a 304. Resolves to a reason as `keep` does. */
  async freshen(stale: HeldPage, draft: PageDraft, fetched: FetchedAt): Promise<Page | string> {
    const { store } = this.#options
    const page = await this.#soon(store.freshen(stale.page, draft, fetched.fence), fetched.patient)
    if (typeof page === 'string') return rejections[page]
    const body = fetched.clock === null ? null : (stale.bodies[page.encoding] ?? store.readBodyNow(page))
    if (body !== null) this.#share(page, body, fetched)
    return page
  }

  async #soon(storing: Promise<Page | Rejection>, patient: boolean): Promise<Page | Rejection> {
    return patient ? storing : Promise.race([storing, pause(busyFor, 'unavailable' as const, { ref: false })])
  }

  /** Offers a page to the other nodes, unless it is for visitors with one unconfirmed variant. */
  #share(page: Page, body: Buffer, { fence, clock }: FetchedAt): void {
    const { store, shared } = this.#options
    // A page that was purged meanwhile must not take the place of a newer one.
    if (clock !== null && !page.key.includes(unconfirmedMark) && store.holds(fence))
      shared?.write(page, compact(body), clock)
  }

  /** Takes a page of another node. Null when a purge since the fence selects it. */
  async adopt(
    lookup: Lookup,
    { draft, body }: SharedPage,
    fence: Fence,
    patient: boolean,
  ): Promise<(Fetched & { kind: 'held' }) | null> {
    const page = await this.#store(draft, body, fence, patient)
    if (page === 'invalidated') return null
    const bodies = { [draft.encoding]: body }
    return {
      kind: 'held',
      held:
        typeof page === 'string'
          ? toHeldPage(unstored(draft, body.length), bodies)
          : this.remember(page, bodies, lookup, fence),
      status: draft.status,
      notStored: typeof page === 'string' ? rejections[page] : null,
      shareable: true,
      live: [...draft.headers],
      isShared: true,
    }
  }

  /**
   * Adds a stored page to memory, unless it is large or invalidated while it was fetched, which may have been for this
   * page. Adds the coding that this visitor gets too, so that it is not encoded again.
   */
  remember(page: Page, bodies: HeldPage['bodies'], lookup: Lookup, fence: Fence): HeldPage {
    const { store, memory } = this.#options
    memory.dropMadeOf(page)
    const small: HeldPage['bodies'] = {}
    for (const [encoding, body] of Object.entries(bodies))
      if (memory.takes(body.length)) small[encoding as Encoding] = body
    const stored = small[page.encoding]
    if (stored === undefined || !store.heldAtLastPoll(fence)) {
      // The hot path would go on serving an older one that is still fresh.
      memory.dropKeys([page.key])
      return toHeldPage(page, small)
    }
    const entry = memory.set(page, page.encoding, stored)
    const wanted = encodingFor(page, lookup.field('accept-encoding'))
    const body = small[wanted]
    if (body === undefined || entry.bodies[wanted] !== undefined) return entry
    memory.addBody(entry, wanted, body)
    return entry.bodies[wanted] === undefined ? toHeldPage(page, small) : entry
  }
}
