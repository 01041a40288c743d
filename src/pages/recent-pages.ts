import type { BodyReads } from './body-reads.ts'
import { FifoCache } from './fifo-cache.ts'
import type { StoredBody } from './page-reads.ts'
import type { Page } from './page.ts'
import type { PageBytes, PageStore, Selection } from './page-store.ts'
import { pieceSize } from './piece-digests.ts'
import { selects } from './removals.ts'
import type { SharedIndex } from './shared-index.ts'

/** Estimated bytes of the pages that are remembered, without their bodies: about 5,000. */
const mostBytes = 16 * 1024 ** 2
/** Bytes of a page besides its texts. Rather too much: pages with 12 tags and 10 headers took half of what is estimated. */
const pageOverhead = 1_536
/** Bytes per header, tag or variant besides its text. */
const itemOverhead = 64
/** Tags, URLs and types that removals may have named since a look-up. Comparing a page with more takes longer than another look-up. */
const mostNamed = 128

/** What a look-up has found under a key. */
interface LookUp {
  readonly pages: readonly Page[]
  /** Where their bodies are, in the same order. */
  readonly bodies: readonly StoredBody[]
  /** What `RecentPages.#named` was when no removal was known to select any of them. */
  named: number
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
 * next read needs no query. It forgets a key whose pages have changed. Like memory it relies on the caller's poll: removals that were told
 * are compared with a page when it is read.
 */
export class RecentPages {
  readonly #parts: Parts
  readonly #lookUps = new FifoCache<LookUp>({ capacity: mostBytes, sizeOf, onLeave: () => {} })
  /** The last removals, the oldest first, with `#named` after each. */
  readonly #removals: { selection: Selection; named: number }[] = []
  /** How much all removals together have named. */
  #named = 0
  /** Where bodies are read. Larger than any of them, so that `compact` copies what is kept. */
  readonly #body = Buffer.allocUnsafeSlow(pieceSize + 1)

  constructor(parts: Parts) {
    this.#parts = parts
    parts.shared.onRemoved((selection) => this.#note(selection))
    parts.shared.renewals.onChanged = (key) => this.#lookUps.delete(key)
  }

  /** As `PageStore.readPage`. */
  read(key: string, choose: (pages: readonly Page[]) => Page | null): PageBytes | null {
    const { shared, reads, find, waits } = this.#parts
    if (reads.isPaused) return null
    shared.poll()
    const isStored = !waits(key)
    const known = isStored ? this.#known(key) : null
    const remembered = known === null ? null : choose(known.pages)
    if (remembered !== null) {
      const body = reads.nowFrom(known!.bodies[known!.pages.indexOf(remembered)]!, this.#body)
      if (body !== null) return { page: remembered, body }
    }
    // What is remembered may be outdated without a notice: other processes renew pages, and bodies move to other files.
    this.#lookUps.delete(key)
    const named = this.#named
    const pages = find(key)
    const page = choose(pages)
    const body = page === null ? null : reads.now(page, this.#body)
    if (body === null) return null
    if (isStored) this.#remember(key, pages, named)
    return { page: page!, body }
  }

  /** Null if the index has to be asked. */
  #known(key: string): LookUp | null {
    const known = this.#lookUps.get(key)
    if (known === undefined || this.#isSelected(known)) return null
    known.named = this.#named
    return known
  }

  /** Whether a removal since the look-up selects any of its pages, or may do so. */
  #isSelected({ pages, named }: LookUp): boolean {
    if (named === this.#named) return false
    if (this.#named - named > mostNamed) return true
    const later = this.#removals.filter((removal) => removal.named > named)
    return later.some(({ selection }) => pages.some((page) => selects(selection, page)))
  }

  #note(selection: Selection): void {
    if (selection.kind === 'all') this.#lookUps.clear()
    const size = namedBy(selection)
    this.#named += size
    if (size <= mostNamed) this.#removals.push({ selection, named: this.#named })
    const forgotten = this.#removals.findIndex(({ named }) => named > this.#named - mostNamed)
    this.#removals.splice(0, forgotten < 0 ? this.#removals.length : forgotten)
  }

  #remember(key: string, pages: readonly Page[], named: number): void {
    const bodies = this.#parts.shared.read<(StoredBody | null)[]>([], ({ reads }) =>
      pages.map((page) => reads.foundBody(page)),
    )
    const isWhole = (all: typeof bodies): all is StoredBody[] => all.length > 0 && !all.includes(null)
    if (isWhole(bodies)) this.#lookUps.set(key, { pages, bodies, named })
  }
}

/** How many tags, URLs or types a removal names; more than can be compared where it names none. */
function namedBy(selection: Selection): number {
  switch (selection.kind) {
    case 'type':
      return 1
    case 'tags':
      return selection.tags.length
    case 'urls':
      return selection.urls.length
    default:
      return mostNamed + 1
  }
}

function sizeOf({ pages }: LookUp, key: string): number {
  return pages.reduce((sum, page) => sum + sizeOfPage(page), key.length)
}

function sizeOfPage({ url, tags, headers, vary }: Page): number {
  let size = pageOverhead + url.length
  for (const tag of tags) size += itemOverhead + tag.length
  for (const [name, value] of headers) size += itemOverhead * 2 + name.length + value.length
  for (const name in vary) size += itemOverhead * 2 + name.length + (vary[name]?.length ?? 0)
  return size
}
