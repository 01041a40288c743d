import { hourOf } from '../lib/moment.ts'
import { prepareRows } from '../records/statements.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import { sum, type DoneEverywhere } from './everywhere.ts'
import { maxKeysPerTransaction, type Plan, type PurgeOwner, type PurgingOptions } from './intent.ts'
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
  const rows = plans.map(({ invalidation: { soft, source, actor, targets }, keys }) => ({
    created_at: at,
    source,
    actor,
    ...describeTargets(targets),
    soft: Number(soft),
    intent: JSON.stringify(keys),
    owner: JSON.stringify(owner),
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
  const results = toResults(done).slice(recorded.length, recorded.length + maxKeysPerTransaction)
  const ids = [...recorded, ...(await recordPurges(transaction, { ...options, at: intent.at, unconfirmed }, results))]
  const isLast = ids.length === intent.keys.length
  const [trace] = isLast
    ? await beginTraces(transaction, options.pages, intent.at, {
        invalidations: [{ ...intent, purges: ids }],
        isNew: false,
      })
    : []
  const pages_removed = sum(results.map(({ pagesRemoved }) => pagesRemoved))
  if (isLast) await finish.execute(transaction, [{ pages_removed, trace: trace ?? null, unconfirmed, id: intent.id }])
  else
    await transaction
      .updateTable('invalidations')
      .set((eb) => ({ pages_removed: eb('pages_removed', '+', pages_removed), recorded: JSON.stringify(ids) }))
      .where('id', '=', intent.id)
      .execute()
  return { ids, tracing: typeof trace === 'string' }
}

/** Records all purges of intents with the same time. Returns each intent's remaining traces, null if all of its URLs are recorded. */
export async function recordWhole(
  transaction: RecordsTransaction,
  options: PurgingOptions,
  all: readonly DoneEverywhere[],
): Promise<(string | null)[]> {
  const at = all[0]!.intent.at
  const unconfirmed = toUnconfirmedColumn(all[0]!.unconfirmed)
  const ids = await recordPurges(transaction, { ...options, at, unconfirmed }, all.flatMap(toResults))
  const traced = all.map(({ intent, counts }) => ({
    ...intent,
    purges: ids.splice(0, intent.keys.length),
    removed: sum(counts),
  }))
  const invalidations = traced.map((each) => (each.removed > 0 ? each : { ...each, groups: [] }))
  const traces = await beginTraces(transaction, options.pages, at, { invalidations, isNew: true })
  await finish.execute(
    transaction,
    all.map(({ intent, everywhere }, index) => {
      return { pages_removed: sum(everywhere), trace: traces[index]!, unconfirmed, id: intent.id }
    }),
  )
  return traces
}

function toResults({ intent, everywhere, localTime }: DoneEverywhere): KeyResult[] {
  return intent.keys.map((key, index) => ({ invalidation: intent, key, pagesRemoved: everywhere[index]!, localTime }))
}

const finish = prepareRows<{ pages_removed: number; trace: string | null; unconfirmed: string | null; id: number }>(
  ['pages_removed', 'trace', 'unconfirmed', 'id'],
  ([row], db) =>
    db
      .updateTable('invalidations')
      .set((eb) => ({
        pages_removed: eb('pages_removed', '+', row!.pages_removed),
        trace: row!.trace,
        unconfirmed: row!.unconfirmed,
        intent: eb.lit(null),
        owner: eb.lit(null),
        recorded: eb.lit(null),
      }))
      .where('id', '=', row!.id),
  1,
)
