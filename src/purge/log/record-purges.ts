import { hourOf } from '../../lib/moment.ts'
import type { NewMessage, Queue } from '../../queue/queue.ts'
import { prepareRows } from '../../records/statements.ts'
import type { PurgeDeliveryRow, PurgeRow } from '../../records/purge-rows.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import { deliverMessage } from '../deliver/message.ts'
import type { PurgeBudget } from '../intent.ts'
import type { Entity } from '../entities.ts'
import { addNewPurgedPages, countEntities, countTags, findUrls } from './name-rows.ts'
import { isSoftened, type PurgeKey } from '../purge-key.ts'
import { purgeModes, type PurgeMode } from './purge-items.ts'
import { addToHour } from './rollups.ts'

export interface Recording {
  /** Milliseconds since the epoch. */
  at: number
  queue: Pick<Queue, 'dispatch'>
  /** Names of the configured reverse proxies. */
  proxies: readonly string[]
  /** A message dispatched with every group of purges; null for none. */
  followUp: NewMessage | null
  /** Names of nodes, as a JSON list: see `PurgeRow`. */
  unconfirmed: string | null
  /** Its message is dispatched instead with purges that it made soft. */
  budget: PurgeBudget | null
}

/** A key of an invalidation with the number of pages removed here. */
export interface KeyResult {
  invalidation: { id: number; source: string; soft: boolean }
  key: PurgeKey
  pagesRemoved: number
  /** The URLs of pages removed here, as far as they are recorded with the purge. */
  urls: readonly string[]
  /** Duration of the local removal, in milliseconds. */
  localTime: number
}

/**
 * Records purges of one or several invalidations in the caller's transaction: their rows, the URLs of the pages that they removed, the
 * pending deliveries, one message for each reverse proxy, and the sums per hour. Returns the row numbers, in the order of the results.
 */
export async function recordPurges(
  transaction: RecordsTransaction,
  recording: Recording,
  results: readonly KeyResult[],
): Promise<number[]> {
  const { at } = recording
  const rows = await toRows(transaction, recording, results)
  const ids = (await addPurges.execute(transaction, rows)).map((row) => row.id).sort((a, b) => a - b)
  const removed = results.flatMap(({ key, urls }, index) => {
    // A URL purged by name is logged even if its page was not cached here: a proxy may have cached it.
    const all = key.kind === 'url' ? [key.url, ...urls] : urls
    return all.map((url) => ({ url, purge: ids[index]! }))
  })
  await addNewPurgedPages(transaction, removed, at)
  await addPendingDeliveries(transaction, recording, results, ids)
  const times = rows.flatMap(({ response_time }) => response_time ?? [])
  await addToHour(transaction, hourOf(at), {
    purges: ids.length,
    responses: times.length,
    responseTime: times.reduce((sum, time) => sum + time, 0),
  })
  return ids
}

/** The rows of purges, after adding the rows of their tags, entities and URLs. */
async function toRows(
  transaction: RecordsTransaction,
  { at, proxies, unconfirmed }: Recording,
  results: readonly KeyResult[],
): Promise<NewPurge[]> {
  const tagsOfKeys = results.flatMap(({ key }) => ('tag' in key ? [key.tag] : []))
  const tags = await countTags(transaction, tagsOfKeys, at)
  const entitiesOfKeys = results.flatMap(({ key }) => entityIn(key) ?? [])
  const entities = await countEntities(transaction, entitiesOfKeys)
  const urlsOfKeys = results.flatMap(({ key }) => (key.kind === 'url' ? [key.url] : []))
  const urls = await findUrls(transaction, urlsOfKeys)
  return results.map(({ invalidation, key, pagesRemoved, localTime }): NewPurge => {
    const named = entityIn(key)
    return {
      invalidation_id: invalidation.id,
      created_at: at,
      source: invalidation.source,
      kind: key.kind,
      url_id: key.kind === 'url' ? urls.get(key.url)! : null,
      tag_id: 'tag' in key ? tags.get(key.tag)! : null,
      entity_id: named === null ? null : entities.get(`${named.entity.type} ${named.entity.id}`)!,
      value: valueOf(key),
      soft: purgeModes.indexOf(modeOf(invalidation, key)),
      pages_removed: pagesRemoved,
      response_time: proxies.length === 0 ? localTime : null,
      unconfirmed,
    }
  })
}

type NewPurge = Omit<PurgeRow, 'id'>

const purgeColumns = [
  'invalidation_id',
  'created_at',
  'source',
  'kind',
  'url_id',
  'tag_id',
  'entity_id',
  'value',
  'soft',
  'pages_removed',
  'response_time',
  'unconfirmed',
] as const

const addPurges = prepareRows<NewPurge, { id: number }>(purgeColumns, (rows, db) =>
  db.insertInto('purges').values(rows).returning('id'),
)

type NewDelivery = Pick<PurgeDeliveryRow, 'purge_id' | 'proxy' | 'status' | 'created_at' | 'kind' | 'key'> & {
  soft: number
}

/** Deliveries contain their key, so that they survive clearing the log. */
const addDeliveries = prepareRows<NewDelivery>(
  ['purge_id', 'proxy', 'status', 'created_at', 'kind', 'key', 'soft'],
  (rows, db) => db.insertInto('purge_deliveries').values(rows),
)

function modeOf({ soft }: KeyResult['invalidation'], key: PurgeKey): PurgeMode {
  return isSoftened(key) ? 'softened' : soft ? 'soft' : 'hard'
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

/** The key as sent to a reverse proxy: see `Pending` (src/purge/deliver/plan.ts). */
function deliveredKey(key: PurgeKey): string | null {
  if ('tag' in key) return key.tag
  return key.kind === 'url' ? key.url : valueOf(key)
}

async function addPendingDeliveries(
  transaction: RecordsTransaction,
  recording: Recording,
  results: readonly KeyResult[],
  ids: readonly number[],
): Promise<void> {
  const { at, proxies, queue, budget } = recording
  const isSoftening = results.some(({ key }) => isSoftened(key))
  const followUp = recording.followUp ?? (isSoftening ? (budget?.followUp ?? null) : null)
  for (const proxy of proxies) {
    const rows = results.map(({ invalidation, key }, index): NewDelivery => ({
      purge_id: ids[index]!,
      proxy,
      status: 'pending',
      created_at: at,
      kind: key.kind,
      key: deliveredKey(key),
      soft: Number(modeOf(invalidation, key) !== 'hard'),
    }))
    await addDeliveries.execute(transaction, rows)
  }
  const messages = [...proxies.map((proxy) => deliverMessage(proxy)), ...(followUp === null ? [] : [followUp])]
  if (messages.length > 0) await queue.dispatch(messages, transaction)
}
