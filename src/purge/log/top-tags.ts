import type { RecordsDatabase } from '../../records/schema.ts'
import { windowHours } from './rollups.ts'

export interface TopTag {
  tag: string
  count: number
}

/** Tags read from one hour's list at a time. */
const batch = 50

interface Candidate {
  id: number
  tag: string
}

/** The last 24 hours: they end in the hour `last`, and `begun` has what they hold of the hour that they begin in. */
export interface TagWindow {
  last: number
  /** Purges by the number of the tag. */
  begun: ReadonlyMap<number, number>
}

/**
 * The tags with the most purges in the last 24 hours. Tags are read from 25 lists, one for each hour in which a tag can have been
 * purged last, each with the most purged first: by the purges in the 25 hours that ended with the tag's last one, of which no more
 * can lie in the window. Reading ends where nothing that is left can be among the first. So it takes some hundred rows however many
 * tags were purged.
 */
export async function topTags(db: RecordsDatabase, window: TagWindow, count: number): Promise<TopTag[]> {
  const best: TopTag[] = []
  for (const hour of await openHours(db, window.last)) {
    for (let offset = 0; ; offset += batch) {
      const worst = best.length < count ? 0 : best[count - 1]!.count
      const hopeful = await readCandidates(db, { hour, worst, offset })
      if (hopeful.length > 0) best.push(...(await countAll(db, hopeful, window)))
      best.sort((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1))
      best.length = Math.min(best.length, count)
      // A better worst one leaves out tags of this list that were read past or are still to come: none that counts.
      if (hopeful.length < batch) break
    }
  }
  return best
}

/** Hours of the window in which some tag was purged last; a clock that was ahead may have left later ones. */
async function openHours(db: RecordsDatabase, last: number): Promise<number[]> {
  const rows = await db
    .selectFrom('purge_key_hours')
    .select('hour')
    .where('kind', '=', 'tag')
    .where('hour', '>', last - windowHours)
    .where('keys', '>', 0)
    .orderBy('hour', 'desc')
    .execute()
  return rows.map((row) => row.hour)
}

/** The next tags of an hour's list that can still have more purges than the worst of the best. */
async function readCandidates(
  db: RecordsDatabase,
  { hour, worst, offset }: { hour: number; worst: number; offset: number },
): Promise<Candidate[]> {
  return db
    .selectFrom('purge_tags')
    .select(['id', 'tag'])
    .where('last_hour', '=', hour)
    .where('window_count', '>', worst)
    .orderBy('window_count', 'desc')
    .orderBy('id')
    .limit(batch)
    .offset(offset)
    .execute()
}

async function countAll(
  db: RecordsDatabase,
  candidates: readonly Candidate[],
  { last, begun }: TagWindow,
): Promise<TopTag[]> {
  const rows = await db
    .selectFrom('purge_tag_hours')
    .select(['tag_id', (eb) => eb.fn.sum<number>('purges').as('count')])
    .where(
      'tag_id',
      'in',
      candidates.map((candidate) => candidate.id),
    )
    .where('hour', '>', last - windowHours + 1)
    .groupBy('tag_id')
    .execute()
  const counts = new Map(rows.map((row) => [row.tag_id, row.count]))
  const all = candidates.map(({ id, tag }) => ({ tag, count: (counts.get(id) ?? 0) + (begun.get(id) ?? 0) }))
  return all.filter((candidate) => candidate.count > 0)
}
