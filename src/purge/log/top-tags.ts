import type { RecordsDatabase } from '../../records/schema.ts'
import { windowHours } from './rollups.ts'

export interface TopTag {
  tag: string
  count: number
}

/** Most tags read from one hour's list at a time. */
const batch = 50

interface Candidate {
  id: number
  tag: string
}

/** The last 24 hours. */
export interface TagWindow {
  /** The hour in which the window ends. */
  last: number
  /** Purges by tag id in the part of the first hour that lies within the window. */
  partialHour: ReadonlyMap<number, number>
}

/**
 * Finds the tags with the most purges in the last 24 hours. Each tag is listed under the hour of its last purge, sorted by its purges in
 * the 25 hours up to then: an upper bound of its purges within the window. Each of the 25 lists is read until no remaining tag can be
 * among the top ones, which takes a few hundred rows however many tags were purged.
 */
export async function topTags(db: RecordsDatabase, window: TagWindow, count: number): Promise<TopTag[]> {
  const best: TopTag[] = []
  for (const hour of await readHours(db, window.last)) {
    for (let offset = 0; ; offset += batch) {
      const worst = best.length < count ? 0 : best[count - 1]!.count
      const candidates = await readCandidates(db, { hour, worst, offset })
      if (candidates.length > 0) best.push(...(await countAll(db, candidates, window)))
      best.sort((a, b) => b.count - a.count || (a.tag < b.tag ? -1 : 1))
      best.length = Math.min(best.length, count)
      // A higher bound shortens this list between two reads, but only by tags that cannot be among the top ones.
      if (candidates.length < batch) break
    }
  }
  return best
}

/** The hours of the window in which tags were last purged; a clock that was ahead may have added later hours. */
async function readHours(db: RecordsDatabase, last: number): Promise<number[]> {
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

/** The next tags of an hour's list that may have more purges than the lowest of the current top tags. */
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
  { last, partialHour }: TagWindow,
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
  const all = candidates.map(({ id, tag }) => ({ tag, count: (counts.get(id) ?? 0) + (partialHour.get(id) ?? 0) }))
  return all.filter((candidate) => candidate.count > 0)
}
