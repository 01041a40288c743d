import { PagecacheError } from '../errors.ts'
import type { Handler, Work } from '../queue/queue.ts'
import type { Records } from '../records/open.ts'
import { change, readTask } from './scheduled-tasks.ts'
import type { Task, TaskEnd } from './task.ts'

/** A failed task is retried after one minute and after two more, then waits for its next time. */
const backoffMinute = 60_000

/** Makes the handler of one task's messages. `now` is milliseconds since the epoch. */
export function taskHandler(records: Records, task: Task, now: () => number): Handler {
  return {
    type: task.name,
    backoff: (attempts) => attempts * backoffMinute,
    async handle(work) {
      if (!(await begin(records, task, work, now()))) return
      try {
        const end = await task.run({ stop: AbortSignal.any([work.stop, work.lost]) })
        await finish(records, task, work, end, now())
      } catch (error) {
        if (!isLeaseLost(error)) await fail(records, task, work, error, now())
        throw error
      }
    },
  }
}

/** Marks the task as running; false if it must not run: it is inactive, its last run succeeded before a crash, or it has nothing to do. */
async function begin(records: Records, task: Task, work: Work, now: number): Promise<boolean> {
  const runs = task.shouldRun === undefined || (await task.shouldRun())
  return records.db.transaction().execute(async (transaction) => {
    await work.hold(transaction, work.message)
    const { status } = await readTask(transaction, task.name)
    const wanted = status !== 'inactive' && status !== 'scheduled'
    if (wanted && runs) {
      await change(transaction, task.name, { status: 'running', updated_at: now })
      return true
    }
    if (wanted)
      await change(transaction, task.name, {
        status: 'skipped',
        next_execution_at: task.nextAfter(now),
        result: 'nothing to do',
        error: null,
        updated_at: now,
      })
    await work.complete(work.message, transaction)
    return false
  })
}

/** Saves the result and completes the message in one transaction, so that neither happens without the other. */
async function finish(records: Records, task: Task, work: Work, { done, result }: TaskEnd, now: number): Promise<void> {
  await records.db.transaction().execute(async (transaction) => {
    await work.hold(transaction, work.message)
    const { status } = await readTask(transaction, task.name)
    const wasDeactivated = status === 'inactive'
    if (!done)
      return change(transaction, task.name, { ...(wasDeactivated ? {} : { status: 'queued' }), updated_at: now })
    await change(transaction, task.name, {
      ...(wasDeactivated ? {} : { status: 'scheduled' }),
      last_execution_at: now,
      next_execution_at: task.nextAfter(now),
      result,
      error: null,
      updated_at: now,
    })
    await work.complete(work.message, transaction)
  })
  if (!done) await work.release(work.message)
}

async function fail(records: Records, task: Task, work: Work, error: unknown, now: number): Promise<void> {
  await records.db.transaction().execute(async (transaction) => {
    await work.hold(transaction, work.message)
    await change(transaction, task.name, {
      status: 'failed',
      last_execution_at: now,
      next_execution_at: task.nextAfter(now),
      error: error instanceof Error ? error.message : String(error),
      updated_at: now,
    })
  })
}

function isLeaseLost(error: unknown): boolean {
  return error instanceof PagecacheError && error.code === 'LEASE_LOST'
}
