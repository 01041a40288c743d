import { hasMessageWithPrefix } from '../../queue/find-messages.ts'
import type { Records } from '../../records/open.ts'
import { batchKeys } from './messages.ts'
import { dispatchOpenBatches, type OriginOfChannel } from './moves.ts'
import { completeRun } from './save-progress.ts'

/**
 * Queues new messages for running runs that have none left because they ended on the transport `failed` or were removed from there.
 * Workers do this when they start, so that no run stays `running` for ever.
 *
 * @returns the number of revived runs
 */
export async function reviveRuns(records: Records, originOf: OriginOfChannel): Promise<number> {
  const running = await records.db.selectFrom('warmup_runs').select('id').where('status', '=', 'running').execute()
  let revived = 0
  for (const { id } of running) {
    if (await hasMessageWithPrefix(records.db, batchKeys(id))) continue
    revived += await records.db.transaction().execute(async (transaction) => {
      const run = await transaction.selectFrom('warmup_runs').select('status').where('id', '=', id).executeTakeFirst()
      if (run?.status !== 'running' || (await hasMessageWithPrefix(transaction, batchKeys(id)))) return 0
      const now = records.now()
      await dispatchOpenBatches(transaction, id, originOf, now)
      await completeRun(transaction, id, now)
      return 1
    })
  }
  return revived
}
