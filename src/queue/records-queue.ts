import type { Records } from '../records/open.ts'
import { dispatch } from './dispatch.ts'
import { listFailed, readFailed, removeFailed, retryFailed } from './failed.ts'
import { joinRecords } from './membership.ts'
import { thisProcess } from '../lib/process-identity.ts'
import type { Queue } from './queue.ts'
import { readStatistics } from './statistics.ts'

/**
 * Opens the queue in the records: messages are rows, so that one transaction can commit a message with the reason for it. `now` is the
 * wall clock in milliseconds since the epoch, which all processes of a machine share.
 */
export function openQueue(records: Records, now: () => number): Queue {
  const { db } = records
  return {
    async dispatch(messages, transaction) {
      if (transaction) return dispatch(transaction, now(), messages)
      // The transaction may be repeated, and a generator can be read only once.
      const list = [...messages]
      return db.transaction().execute((own) => dispatch(own, now(), list))
    },
    statistics: () => readStatistics(db, now()),
    listFailed: (page) => listFailed(db, page),
    readFailed: (id) => readFailed(db, id),
    retryFailed: (ids, filter = {}) => retryFailed(records, now, ids, filter),
    removeFailed: (ids, filter = {}) => removeFailed(records, ids, filter),
    async stopWorkers() {
      const { numUpdatedRows } = await db
        .updateTable('queue_workers')
        .set({ stopping: 1 })
        .where('kind', '=', 'consumer')
        .where('stopping', '=', 0)
        .executeTakeFirstOrThrow()
      return Number(numUpdatedRows)
    },
    join: (worker) => joinRecords(records, now, thisProcess(), worker),
    async close() {},
  }
}
