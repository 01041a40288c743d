import type { Records } from '../records/open.ts'

/**
 * Deletes a slice of what is left of warmups that ended before a moment (milliseconds since the epoch): failures and batches first,
 * then the run itself. How many rows went, of whatever table; 0: there are no more.
 */
export async function pruneRuns({ db }: Records, { before, limit }: { before: number; limit: number }): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    const run = await transaction
      .selectFrom('warmup_runs')
      .select('id')
      .where('finished_at', '<', before)
      .where('status', 'in', ['completed', 'cancelled', 'failed'])
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
    if (!run) return 0
    const failures = await transaction.selectFrom('warmup_failures').select('id').where('run_id', '=', run.id).limit(limit).execute()
    if (failures.length > 0) {
      await transaction.deleteFrom('warmup_failures').where('id', 'in', failures.map(({ id }) => id)).execute()
      return failures.length
    }
    const batches = await transaction.selectFrom('warmup_batches').select('number').where('run_id', '=', run.id).limit(limit).execute()
    if (batches.length > 0) {
      await transaction.deleteFrom('warmup_batches').where('run_id', '=', run.id).where('number', 'in', batches.map(({ number }) => number)).execute()
      return batches.length
    }
    await transaction.deleteFrom('warmup_runs').where('id', '=', run.id).execute()
    return 1
  })
}
