import { hourOf } from '../lib/moment.ts'
import { givenRows, prepareRows } from '../records/statements.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import { sum, type DoneEverywhere, type Everywhere } from './everywhere.ts'
import {
  maxKeysPerTransaction,
  type Plan,
  type PurgeOwner,
  type PurgingOptions,
  type RemovedTogether,
} from './intent.ts'
import { describeTargets } from './purge-key.ts'
import { recordPurges, type KeyResult } from './log/record-purges.ts'
import { addToHour } from './log/rollups.ts'
import { toUnconfirmedColumn } from './log/unconfirmed.ts'
import { beginTraces } from './log/trace-urls.ts'

const intentColumns = ['created_at', 'source', 'actor', 'scope', 'value', 'soft', 'intent', 'owner'] as const

interface NewIntent extends Record<(typeof intentColumns)[number], unknown> {
  created_at: number
  source: string
  actor: string | null
  scope: string
  value: string | null
  soft: number
  intent: string
  owner: string
}

const insertIntents = prepareRows<NewIntent, { id: number }>(intentColumns, (rows, db) =>
  db.insertInto('invalidations').values(rows).returning('id'),
)

/** Adds intents to the invalidation log. Returns the row numbers, in the order of the plans. */
export async function addIntents(
  transaction: RecordsTransaction,
  { at, owner }: { at: number; owner: PurgeOwner },
  plans: readonly Plan[],
): Promise<number[]> {
  const ownerColumn = JSON.stringify(owner)
  const rows = plans.map(({ invalidation: { soft, source, actor, targets }, keys }) => ({
    created_at: at,
    source,
    actor,
    ...describeTargets(targets),
    soft: Number(soft),
    intent: JSON.stringify(keys),
    owner: ownerColumn,
  }))
  const added = await insertIntents.execute(transaction, rows)
  await addToHour(transaction, hourOf(at), { invalidations: plans.length })
  return added.map(({ id }) => id).sort((a, b) => a - b)
}

/** Records the next slice of an intent's purges, and with the last slice that it is done. Returns the numbers of all purges recorded so far. */
export async function recordSlice(
  transaction: RecordsTransaction,
  options: PurgingOptions,
  done: DoneEverywhere,
  recorded: readonly number[],
): Promise<{ ids: readonly number[]; tracing: boolean }> {
  const { intent } = done
  const unconfirmed = toUnconfirmedColumn(done.unconfirmed)
  // Their URLs are in traces.
  const results = toResults(done).slice(recorded.length, recorded.length + maxKeysPerTransaction)
  const ids = [...recorded, ...(await recordPurges(transaction, { ...options, at: intent.at, unconfirmed }, results))]
  const isLast = ids.length === intent.keys.length
  const trace = isLast ? await beginTraces(transaction, options.pages, intent.at, { ...intent, purges: ids }) : null
  const pages_removed = sum(results.map(({ pagesRemoved }) => pagesRemoved))
  if (isLast) await finish.execute(transaction, [{ pages_removed, trace, unconfirmed, id: intent.id }])
  else
    await transaction
      .updateTable('invalidations')
      .set((eb) => ({ pages_removed: eb('pages_removed', '+', pages_removed), recorded: JSON.stringify(ids) }))
      .where('id', '=', intent.id)
      .execute()
  return { ids, tracing: trace !== null }
}

/** Records all purges of intents with the same time, and that they are done. */
export async function recordWhole(
  transaction: RecordsTransaction,
  options: PurgingOptions,
  all: readonly (RemovedTogether & Everywhere)[],
): Promise<void> {
  const at = all[0]!.intent.at
  const unconfirmed = toUnconfirmedColumn(all[0]!.unconfirmed)
  const results = all.flatMap((done) => toResults(done, done.urls))
  await recordPurges(transaction, { ...options, at, unconfirmed }, results)
  await finish.execute(
    transaction,
    all.map(({ intent, everywhere }) => ({ id: intent.id, pages_removed: sum(everywhere), trace: null, unconfirmed })),
  )
}

function toResults(
  { intent, everywhere, localTime }: DoneEverywhere,
  urls: readonly (readonly string[])[] = [],
): KeyResult[] {
  return intent.keys.map((key, index) => ({
    invalidation: intent,
    key,
    pagesRemoved: everywhere[index]!,
    urls: urls[index] ?? [],
    localTime,
  }))
}

interface Finished {
  id: number
  pages_removed: number
  trace: string | null
  unconfirmed: string | null
}

const finish = prepareRows<Finished>(['id', 'pages_removed', 'trace', 'unconfirmed'], (rows, db) =>
  db
    .updateTable('invalidations')
    .from(givenRows(rows, { id: 'bigint', pages_removed: 'bigint', trace: 'text', unconfirmed: 'text' }))
    .set((eb) => ({
      pages_removed: eb('invalidations.pages_removed', '+', eb.ref('given.pages_removed')),
      trace: eb.ref('given.trace'),
      unconfirmed: eb.ref('given.unconfirmed'),
      intent: eb.lit(null),
      owner: eb.lit(null),
      recorded: eb.lit(null),
    }))
    .whereRef('invalidations.id', '=', 'given.id'),
)
