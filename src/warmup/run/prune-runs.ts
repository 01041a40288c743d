import { uuidv7 } from '../../lib/uuid.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsTransaction } from '../../records/schema.ts'

/** A start that is still writing its batches is younger than this (milliseconds). */
const longestStart = 3_600_000

/**
 * Deletes a slice of what ended before a moment (milliseconds since the epoch): failures and batches first, each run with the
 * last of its rows; and batches whose start died before their run was written. How many rows went; 0: there are no more.
 */
export async function pruneRuns(
  records: Records,
  { before, limit }: { before: number; limit: number },
): Promise<number> {
  return records.db.transaction().execute(async (transaction) => {
    const run = await transaction
      .selectFrom('warmup_runs')
      .select('id')
      .where('finished_at', '<', before)
      .orderBy('finished_at')
      .limit(1)
      .executeTakeFirst()
    if (!run) return deleteOrphans(transaction, records.now(), limit)
    const rows = (await deleteFailures(transaction, run.id, limit)) || (await deleteBatches(transaction, run.id, limit))
    if (rows > 0) return rows
    // What its workers told of it goes with it.
    await transaction.deleteFrom('warmup_runs').where('id', '=', run.id).execute()
    return 1
  })
}

async function deleteFailures(transaction: RecordsTransaction, runId: string, limit: number): Promise<number> {
  const some = transaction.selectFrom('warmup_failures').select('id').where('run_id', '=', runId).limit(limit)
  const { numDeletedRows } = await transaction
    .deleteFrom('warmup_failures')
    .where('id', 'in', some)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

async function deleteBatches(transaction: RecordsTransaction, runId: string, limit: number): Promise<number> {
  const some = transaction.selectFrom('warmup_batches').select('number').where('run_id', '=', runId).limit(limit)
  const { numDeletedRows } = await transaction
    .deleteFrom('warmup_batches')
    .where('run_id', '=', runId)
    .where('number', 'in', some)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/** The id of a run tells when its start began. */
async function deleteOrphans(transaction: RecordsTransaction, now: number, limit: number): Promise<number> {
  const orphan = await transaction
    .selectFrom('warmup_batches')
    .select('run_id')
    .where('run_id', '<', uuidv7(now - longestStart))
    .where('run_id', 'not in', transaction.selectFrom('warmup_runs').select('id'))
    .limit(1)
    .executeTakeFirst()
  return orphan ? deleteBatches(transaction, orphan.run_id, limit) : 0
}
