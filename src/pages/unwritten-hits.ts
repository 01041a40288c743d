import type { MemoryEntry, PageHits } from './memory-entry.ts'
import type { StoredHits } from './page-store.ts'

/** The hits that are not yet written to the store. They do not keep pages in memory. */
export class UnwrittenHits {
  /** By the id of a stored page: one that is read from the disk for each of its hits is written once. Others by themselves. */
  #hits = new Map<number | PageHits, PageHits>()

  count(entry: MemoryEntry, ms: number, usedAt: number): void {
    if (entry.hits === null || entry.hits.isTaken) entry.hits = this.#of(entry)
    entry.hits.hits += 1
    entry.hits.ms += ms
    entry.hits.usedAt = entry.usedAt = usedAt
    if (!wantsRecoding(entry)) return
    entry.hits.page = entry.page
    entry.hits.recode = true
  }

  #of({ page, assembly, usedAt }: MemoryEntry): PageHits {
    const [counted = page, ...fragments] = assembly?.parts ?? []
    // The id of a page that waits to be stored changes. Otherwise it is enough, and the page may leave memory.
    const named = counted.id < 0 ? counted : { id: counted.id }
    const made = { page: named, hits: 0, ms: 0, usedAt, recode: false, fragments, isTaken: false }
    const name = named === counted || assembly !== undefined ? made : counted.id
    const known = this.#hits.get(name)
    if (known !== undefined) return known
    this.#hits.set(name, made)
    return made
  }

  /** The hits since the last call. */
  take(): StoredHits[] {
    const taken = this.#hits
    this.#hits = new Map()
    return [...taken.values()].flatMap((unwritten) => {
      unwritten.isTaken = true
      const { page, hits, ms, usedAt, recode, fragments } = unwritten
      // Fragments must not be evicted before the pages that are made of them.
      const used = fragments.map((fragment) => ({ page: fragment, hits: 0, ms: 0, usedAt, recode: false }))
      return [{ page, hits, ms, usedAt, recode }, ...used]
    })
  }
}

/** Whether a thoroughly compressed body saves bytes. The template of an assembled page is never sent itself. */
function wantsRecoding({ page, takesBrotli, assembly }: MemoryEntry): boolean {
  return takesBrotli && page.encoding !== 'br' && assembly === undefined
}
