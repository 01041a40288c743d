import { hasMessageWithPrefix } from '../../queue/find-messages.ts'
import type { Records } from '../../records/open.ts'
import { batchKeys } from './messages.ts'
import { dispatchOpenBatches, type OriginOfChannel } from './moves.ts'
import { completeRun } from './save-progress.ts'

/**
 * Gives running runs that have no message left (they ended on the transport `failed`, or were removed from there) what
 * they need to go on. A worker does this when it starts, so that no run stays "running" for ever. How many there were.
 */
export async function reviveRuns(records: Records, originOf: OriginOfChannel): Promise<number> {
  const running = await records.db.selectFrom('warmup_runs').select('id').where('status', '=', 'running').execute()
  let revived = 0
  for (const { id } of running) {
    if (await hasMessageWithPrefix(records.db, batchKeys(id))) continue
    await records.db.transaction().execute(async (transaction) => {
      const run = await transaction.selectFrom('warmup_runs').select('status').where('id', '=', id).executeTakeFirst()
      if (run?.status !== 'running' || (await hasMessageWithPrefix(transaction, batchKeys(id)))) return
      const now = records.now()
      await dispatchOpenBatches(transaction, id, originOf, now)
      await completeRun(transaction, id, now)
      revived++
    })
  }
  return revived
}
