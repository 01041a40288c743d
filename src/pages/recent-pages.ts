import type { BodyReads } from './body-reads.ts'
import { FifoCache } from './fifo-cache.ts'
import type { StoredBody } from './page-reads.ts'
import type { Page } from './page.ts'
import type { Fence, PageBytes, PageStore } from './page-store.ts'
import type { SharedIndex } from './shared-index.ts'

/** Bytes of the pages that are remembered, without their bodies: about 5,000. */
const mostBytes = 16 * 1024 ** 2
/** Bytes of a page besides its texts, as measured. */
const pageOverhead = 1_536
/** Bytes per header or tag besides its text. */
const itemOverhead = 64
/** A look-up that more removals have followed is done again: comparing it with each of them would take longer. */
const mostRemovals = 64

/** What a look-up has found under a key. */
interface LookUp {
  readonly pages: readonly Page[]
  /** Where their bodies are, in the same order. */
  readonly bodies: readonly StoredBody[]
  /** No later removal selects any of the pages. */
  fence: Fence
}

interface Parts {
  shared: SharedIndex
  reads: BodyReads
  find: PageStore['find']
  /** Whether pages under a key wait to be stored. */
  waits(key: string): boolean
}

/**
 * Reads pages from the disk whose bodies are not in memory, and remembers what the index holds of those that are read often, so that the
 * next read needs no query. Whatever is stored under a key makes it forget the key, and removals are compared when the key is asked for.
 */
export class RecentPages {
  readonly #parts: Parts
  readonly #lookUps = new FifoCache<LookUp>({ capacity: mostBytes, sizeOf, onLeave: () => {} })

  constructor(parts: Parts) {
    this.#parts = parts
    parts.shared.onRemoved(({ kind }) => kind === 'all' && this.#lookUps.clear())
    parts.shared.renewals.onStored = (key) => this.#lookUps.delete(key)
  }

  /** As `PageStore.readPage`. */
  read(key: string, choose: (pages: readonly Page[]) => Page | null): PageBytes | null {
    const { shared, reads, find, waits } = this.#parts
    // Polls, so that what is found is not older.
    const fence = shared.fence()
    const isStored = !waits(key)
    const known = isStored ? this.#known(key, fence) : null
    const remembered = known === null ? null : choose(known.pages)
    if (remembered !== null) {
      const body = reads.now(remembered, known!.bodies[known!.pages.indexOf(remembered)])
      if (body !== null) return { page: remembered, body }
    }
    // What is remembered may be outdated without a notice: other processes renew pages, and bodies move to other files.
    this.#lookUps.delete(key)
    const pages = find(key)
    const page = choose(pages)
    const body = page === null ? null : reads.now(page)
    if (body === null) return null
    if (isStored) this.#remember(key, pages, fence)
    return { page: page!, body }
  }

  /** Null if the index has to be asked. */
  #known(key: string, fence: Fence): LookUp | null {
    const known = this.#lookUps.get(key)
    if (known === undefined || !this.#isCurrent(known, fence)) return null
    known.fence = fence
    return known
  }

  /** Whether no removal since the look-up selects any of its pages. */
  #isCurrent({ pages, fence: since }: LookUp, fence: Fence): boolean {
    const { shared } = this.#parts
    if (shared.heldAtLastPoll(since)) return true
    if (fence.sequence - since.sequence > mostRemovals) return false
    return shared.read(false, ({ log }) => {
      const reject = log.judge()
      return pages.every((page) => reject(since, page) === null)
    })
  }

  #remember(key: string, pages: readonly Page[], fence: Fence): void {
    const bodies = this.#parts.shared.read<(StoredBody | null)[]>([], ({ reads }) =>
      pages.map((page) => reads.foundBody(page)),
    )
    const isWhole = (all: typeof bodies): all is StoredBody[] => all.length > 0 && !all.includes(null)
    if (isWhole(bodies)) this.#lookUps.set(key, { pages, bodies, fence })
  }
}

function sizeOf({ pages }: LookUp, key: string): number {
  return pages.reduce((sum, page) => sum + sizeOfPage(page), key.length)
}

function sizeOfPage({ url, tags, headers }: Page): number {
  let size = pageOverhead + url.length
  for (const tag of tags) size += itemOverhead + tag.length
  for (const [name, value] of headers) size += itemOverhead * 2 + name.length + value.length
  return size
}
