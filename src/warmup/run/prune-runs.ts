import { hourLength } from '../../lib/moment.ts'
import { uuidv7 } from '../../lib/uuid.ts'
import type { Records } from '../../records/open.ts'
import type { RecordsTransaction } from '../../records/schema.ts'

/** Batches without a run that are younger than this may belong to a run that is being created (milliseconds). */
const maxStart = hourLength

/**
 * Deletes a slice of the runs that ended before `before` (milliseconds since the epoch): their failures and batches first, then the
 * run itself. Also deletes batches whose run was never written because its creation crashed.
 *
 * @returns the number of deleted rows; 0 if nothing is left to delete
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
    // The live figures of its workers are deleted by cascade.
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

/** Deletes batches without a run. The id of a run contains the time at which its creation began. */
async function deleteOrphans(transaction: RecordsTransaction, now: number, limit: number): Promise<number> {
  const orphan = await transaction
    .selectFrom('warmup_batches')
    .select('run_id')
    .where('run_id', '<', uuidv7(now - maxStart))
    .where('run_id', 'not in', transaction.selectFrom('warmup_runs').select('id'))
    .limit(1)
    .executeTakeFirst()
  return orphan ? deleteBatches(transaction, orphan.run_id, limit) : 0
}
