import type { RecordsDatabase } from '../records/schema.ts'
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
  /** Purges in the 24 hours that ended with the tag's last purge: no more than those can lie in the window that ends now. */
  most: number
}

/**
 * The tags with the most purges in the 24 hours that end with the hour `last`. Tags are read from 24 lists, one for each hour in
 * which a tag can have been purged last, each with the most purged first; reading ends where nothing that is left can be among
 * the first any more. So it takes some hundred rows however many tags were purged.
 */
export async function topTags(db: RecordsDatabase, last: number, count: number): Promise<TopTag[]> {
  const best: TopTag[] = []
  for (const hour of await openHours(db, last)) {
    for (let offset = 0; ; offset += batch) {
      const candidates = await readCandidates(db, hour, offset)
      const worst = best.length < count ? 0 : best[count - 1]!.count
      const hopeful = candidates.filter((candidate) => candidate.most > worst)
      for (const { id, tag } of hopeful) best.push({ tag, count: await countIn(db, id, last) })
      best.sort((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1))
      best.length = Math.min(best.length, count)
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

async function readCandidates(db: RecordsDatabase, hour: number, offset: number): Promise<Candidate[]> {
  return db
    .selectFrom('purge_tags')
    .select(['id', 'tag', 'window_count as most'])
    .where('last_hour', '=', hour)
    .orderBy('window_count', 'desc')
    .limit(batch)
    .offset(offset)
    .execute()
}

async function countIn(db: RecordsDatabase, tag: number, last: number): Promise<number> {
  const { count } = await db
    .selectFrom('purge_tag_hours')
    .select((eb) => eb.fn.coalesce(eb.fn.sum<number>('purges'), eb.lit(0)).as('count'))
    .where('tag_id', '=', tag)
    .where('hour', '>', last - windowHours)
    .executeTakeFirstOrThrow()
  return count
}
