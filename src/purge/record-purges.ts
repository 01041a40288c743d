import type { Queue } from '../queue/queue.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import type { Entity } from './entities.ts'
import { countEntities, countTags, findUrls, notePages } from './log-texts.ts'
import type { PurgeKey } from './purge-key.ts'
import { addToHour, hourOf } from './rollups.ts'

/** The invalidation that purges are recorded of. */
export interface Recording {
  invalidationId: number
  /** Milliseconds since the epoch. */
  at: number
  source: string
  soft: boolean
  queue: Pick<Queue, 'dispatch'>
  /** Names of the configured reverse proxies. */
  proxies: readonly string[]
  /** How long the local purge took, in milliseconds. */
  localTime: number
}

/** A key with the number of pages that it took here. */
export interface KeyResult {
  key: PurgeKey
  pagesRemoved: number
}

/**
 * Writes purges into the log, in the caller's transaction: their rows, what each reverse proxy has still to be told, a message
 * for each of them, and the sums. Returns the rows' numbers, in the order of the keys.
 */
export async function recordPurges(transaction: RecordsTransaction, recording: Recording, results: readonly KeyResult[]): Promise<number[]> {
  const { at, proxies, localTime } = recording
  const tags = await countTags(transaction, results.flatMap(({ key }) => ('tag' in key ? [key.tag] : [])), at)
  const entities = await countEntities(transaction, results.flatMap(({ key }) => entityIn(key) ?? []))
  const urls = await findUrls(transaction, results.flatMap(({ key }) => (key.kind === 'url' ? [key.url] : [])))
  const responseTime = proxies.length === 0 ? localTime : null
  const rows = await transaction
    .insertInto('purges')
    .values(
      results.map(({ key, pagesRemoved }) => {
        const named = entityIn(key)
        return {
          invalidation_id: recording.invalidationId,
          created_at: at,
          source: recording.source,
          kind: key.kind,
          url_id: key.kind === 'url' ? urls.get(key.url)!.id : null,
          tag_id: 'tag' in key ? tags.get(key.tag)! : null,
          entity_id: named === null ? null : entities.get(`${named.entity.type} ${named.entity.id}`)!,
          value: valueOf(key),
          soft: Number(recording.soft),
          pages_removed: pagesRemoved,
          response_time: responseTime,
        }
      }),
    )
    .returning('id')
    .execute()
  const ids = rows.map((row) => row.id).sort((a, b) => a - b)
  // A URL that was purged by its name is in the log whether we held its page or not: a proxy may have.
  const named = results.flatMap(({ key }, index) => (key.kind === 'url' ? [{ url: urls.get(key.url)!, purge: ids[index]! }] : []))
  await notePages(transaction, named, at)
  await tellProxies(transaction, recording, results.map(({ key }, index) => ({ id: ids[index]!, key })))
  const responses = responseTime === null ? 0 : ids.length
  await addToHour(transaction, hourOf(at), { purges: ids.length, responses, responseTime: responses * (responseTime ?? 0) })
  return ids
}

function entityIn(key: PurgeKey): { entity: Entity; number: string | null } | null {
  if (key.kind === 'entity') return { entity: key.entity, number: key.number }
  return key.kind === 'tag' && key.entity !== null ? { entity: key.entity, number: null } : null
}

function valueOf(key: PurgeKey): string | null {
  if (key.kind === 'type') return key.type
  if (key.kind === 'all') return key.value ?? null
  return key.kind === 'pattern' ? key.pattern : null
}

/** What the key is to a reverse proxy: see `Pending` (src/purge/deliver-plan.ts). */
function deliveredKey(key: PurgeKey): string | null {
  if ('tag' in key) return key.tag
  return key.kind === 'url' ? key.url : valueOf(key)
}

/** Deliveries name what they tell, so that they outlive a clearing of the log. */
async function tellProxies(transaction: RecordsTransaction, recording: Recording, purges: readonly { id: number; key: PurgeKey }[]): Promise<void> {
  const { proxies, queue, at } = recording
  const soft = Number(recording.soft)
  if (proxies.length === 0) return
  for (const proxy of proxies) {
    await transaction
      .insertInto('purge_deliveries')
      .values(purges.map(({ id, key }) => ({ purge_id: id, proxy, status: 'pending' as const, created_at: at, kind: key.kind, key: deliveredKey(key), soft, response_time: null, error: null })))
      .execute()
  }
  await queue.dispatch(proxies.map(toMessage), transaction)
}

/** One for each reverse proxy: its handler delivers all that is pending there, so one that waits already is enough. */
function toMessage(proxy: string) {
  return { transport: 'async' as const, type: 'purge.deliver', payload: { proxy }, group: `proxy:${proxy}`, key: `proxy:${proxy}` }
}
