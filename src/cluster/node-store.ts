import { createHash } from 'node:crypto'
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { thisProcess } from '../lib/process-identity.ts'
import type { PageStore } from '../pages/page-store.ts'
import { fileMode, placesIn } from '../pages/places.ts'
import type { NodeStore, Position } from './applier.ts'
import type { Purge } from './ledger.ts'
import { applyRemovals, type RemovalStore } from './removal.ts'

/** How often the position is written, in milliseconds. */
const saveInterval = 1000

export interface NodeStoreOptions extends RemovalStore {
  pages: Pick<PageStore, 'remove' | 'removeTogether' | 'fence' | 'fault' | 'counters'>
  /** The application cache directory. */
  directory: string
  /** The number of the oldest purge whose process has not yet removed its pages from this store; null for none. */
  oldestUnfinished(): Promise<number | null>
}

const { bootId, host } = thisProcess()

/** The position as it is kept beside the pages: it counts only for the index that it was written for. */
interface Kept extends Position {
  generation: string
  /** Identifies the index file. In a copy of a running node's directory, the position may be ahead of the copied index. */
  inode?: number
}

export function nodeStore({ pages, directory, toMatcher, oldestUnfinished }: NodeStoreOptions): NodeStore {
  const { pages: place, index } = placesIn(directory)
  const file = join(place, 'position')
  const inodeOfIndex = () => statSync(index).ino
  let savedAt = -Infinity
  return {
    load() {
      try {
        const { generation, identity, number, inode } = JSON.parse(readFileSync(file, 'utf8')) as Kept
        // Missing in files of earlier versions.
        const isOfIndex = generation === pages.fence().generation && (inode ?? inodeOfIndex()) === inodeOfIndex()
        return isOfIndex ? { identity, number } : null
      } catch {
        return null
      }
    },
    async save({ identity, number }) {
      if (performance.now() - savedAt < saveInterval) return
      savedAt = performance.now()
      // Read before, so that the index of a later one does not get a position of this one.
      const { generation } = pages.fence()
      const unfinished = await oldestUnfinished()
      const until = Math.min(number, unfinished === null ? number : unfinished - 1)
      try {
        const kept: Kept = { generation, identity, number: until, inode: inodeOfIndex() }
        writeFileSync(`${file}.new`, JSON.stringify(kept), { mode: fileMode })
        renameSync(`${file}.new`, file)
      } catch {
        // Without it the next start begins with an empty store.
      }
    },
    async apply(purges: readonly Purge[]) {
      const counts = await applyRemovals(
        { pages, toMatcher },
        purges.flatMap(({ removals }) => removals),
      )
      const all = purges.map(({ number, removals }) => ({ number, counts: counts.splice(0, removals.length).flat() }))
      return all.filter((purge) => purge.counts.some((count) => count > 0))
    },
    async clear() {
      savedAt = -Infinity
      await pages.remove({ kind: 'all' })
    },
    statistics: () => (pages.fault() === null ? JSON.stringify(pages.counters()) : null),
  }
}

/**
 * Identifies the page store in a directory: equal only for processes that share it on one machine. A copy on another machine, or a new
 * directory, is another store.
 */
export function storeId(directory: string): string {
  try {
    const { dev, ino } = statSync(directory)
    return createHash('sha256')
      .update(`${bootId ?? host} ${directory} ${dev} ${ino}`)
      .digest('hex')
      .slice(0, 32)
  } catch {
    return `none-${process.pid}-${performance.timeOrigin}`
  }
}
