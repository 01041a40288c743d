import { PagecacheError } from '../errors.ts'
import { dispatch } from '../queue/dispatch.ts'
import { findFailure, hasMessageOfType } from '../queue/find-messages.ts'
import type { Records } from '../records/open.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type { ScheduledTaskRow } from '../records/task-rows.ts'
import type { Task } from './task.ts'

/** The tasks with how they stand, in the order of the list. Those that are new are registered. `now` is milliseconds since the epoch. */
export async function readTasks(records: Records, tasks: readonly Task[], now: number): Promise<ScheduledTaskRow[]> {
  const read = () => records.db.selectFrom('scheduled_tasks').selectAll().execute()
  let rows = await read()
  if (tasks.some(({ name }) => !rows.some((row) => row.name === name))) {
    await records.db
      .insertInto('scheduled_tasks')
      .values(tasks.map(({ name, runInterval, nextAfter }) => newRow(name, runInterval, nextAfter(now), now)))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    rows = await read()
  }
  return tasks.flatMap(({ name }) => rows.find((row) => row.name === name) ?? [])
}

function newRow(name: string, runInterval: number, next: number, now: number): ScheduledTaskRow {
  return {
    name,
    run_interval: runInterval,
    status: 'scheduled',
    last_execution_at: null,
    next_execution_at: next,
    result: null,
    error: null,
    updated_at: now,
  }
}

/** Sets a task as queued and gives the queue its message, both or neither. One that waits already waits on. */
export async function queueTask(transaction: RecordsTransaction, task: Task, now: number): Promise<void> {
  await transaction
    .updateTable('scheduled_tasks')
    .set({ status: 'queued', updated_at: now })
    .where('name', '=', task.name)
    .execute()
  await dispatch(transaction, now, [
    { transport: 'scheduler', type: task.name, payload: null, group: `task:${task.name}`, key: `task:${task.name}` },
  ])
}

/**
 * Queues the tasks that are due, and again those that say that they are queued or running while the queue knows
 * nothing of it. Any number of schedulers may do this at once: under the write lock the first one changes the status, and the
 * others find it changed. How many were queued.
 */
export async function queueDue(records: Records, tasks: readonly Task[], now: number): Promise<number> {
  const rows = await readTasks(records, tasks, now)
  let queued = 0
  for (const task of tasks) {
    const row = rows.find(({ name }) => name === task.name)
    if (!row || (!isDue(row, now) && !isUnderWay(row) && !isOutOfTime(row, now))) continue
    queued += await records.db
      .transaction()
      .execute(async (transaction) => ((await lookAt(transaction, task, now)) ? 1 : 0))
  }
  return queued
}

/** Looks at one task under the write lock; true when it was queued. */
async function lookAt(transaction: RecordsTransaction, task: Task, now: number): Promise<boolean> {
  const row = await transaction
    .selectFrom('scheduled_tasks')
    .selectAll()
    .where('name', '=', task.name)
    .executeTakeFirst()
  if (!row) return false
  if (isUnderWay(row)) {
    if (await hasMessageOfType(transaction, 'scheduler', task.name)) return false
    const error = await findFailure(transaction, task.name, row.updated_at)
    if (error === null) {
      await queueTask(transaction, task, now)
      return true
    }
    await change(transaction, task.name, {
      status: 'failed',
      error,
      next_execution_at: task.nextAfter(now),
      updated_at: now,
    })
    return false
  }
  if (isOutOfTime(row, now)) {
    await change(transaction, task.name, { next_execution_at: task.nextAfter(now), updated_at: now })
    return false
  }
  if (!isDue(row, now)) return false
  await queueTask(transaction, task, now)
  return true
}

function isDue({ status, next_execution_at: next }: ScheduledTaskRow, now: number): boolean {
  return (status === 'scheduled' || status === 'failed' || status === 'skipped') && next <= now
}

function isUnderWay({ status }: ScheduledTaskRow): boolean {
  return status === 'queued' || status === 'running'
}

/** Further away than a task's own interval: the clock has been set back since it was written. */
function isOutOfTime(
  { status, next_execution_at: next, run_interval: interval }: ScheduledTaskRow,
  now: number,
): boolean {
  return status !== 'inactive' && next > now + interval
}

export async function change(db: RecordsDatabase, name: string, values: Partial<ScheduledTaskRow>): Promise<void> {
  await db.updateTable('scheduled_tasks').set(values).where('name', '=', name).execute()
}

/**
 * Schedules a task, an inactive one too: for its next time, or at once.
 *
 * @throws WRONG_STATE while it is queued or running, unless `force`
 */
export async function scheduleTask(
  records: Records,
  task: Task,
  options: { now: number; immediately: boolean; force: boolean },
): Promise<ScheduledTaskRow> {
  const { now, immediately, force } = options
  return records.db.transaction().execute(async (transaction) => {
    await assertIdle(transaction, task, force)
    await change(transaction, task.name, {
      status: 'scheduled',
      next_execution_at: immediately ? now : task.nextAfter(now),
      updated_at: now,
    })
    if (immediately) await queueTask(transaction, task, now)
    return readTask(transaction, task.name)
  })
}

/** @throws WRONG_STATE while it is queued or running, unless `force`: what runs is not ended by it */
export async function deactivateTask(
  records: Records,
  task: Task,
  options: { now: number; force: boolean },
): Promise<ScheduledTaskRow> {
  return records.db.transaction().execute(async (transaction) => {
    await assertIdle(transaction, task, options.force)
    await change(transaction, task.name, { status: 'inactive', updated_at: options.now })
    return readTask(transaction, task.name)
  })
}

async function assertIdle(transaction: RecordsTransaction, task: Task, force: boolean): Promise<void> {
  const { status } = await readTask(transaction, task.name)
  if (force || (status !== 'queued' && status !== 'running')) return
  throw new PagecacheError('WRONG_STATE', `Scheduled task "${task.name}" is ${status}.`, {
    hint: 'Use --force to change it all the same.',
  })
}

export async function readTask(db: RecordsDatabase, name: string): Promise<ScheduledTaskRow> {
  return db.selectFrom('scheduled_tasks').selectAll().where('name', '=', name).executeTakeFirstOrThrow()
}
