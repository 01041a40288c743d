import { PagecacheError } from '../errors.ts'
import { dispatch } from '../queue/dispatch.ts'
import { findFailure, hasMessageOfType } from '../queue/find-messages.ts'
import type { Records } from '../records/open.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type { ScheduledTaskRow } from '../records/task-rows.ts'
import type { Task } from './task.ts'

/** Reads the states of the tasks, in the order of the list, and registers new tasks. `now` is milliseconds since the epoch. */
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

/** Marks a task as queued and dispatches its message in one transaction. A message that already waits is kept. */
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
 * Queues the tasks that are due, and tasks in status `queued` or `running` that have lost their message. Several schedulers may do this at
 * once: the first one to get the write lock changes the status, the others see it changed. Returns how many were queued.
 */
export async function queueDue(records: Records, tasks: readonly Task[], now: number): Promise<number> {
  const rows = await readTasks(records, tasks, now)
  let queued = 0
  for (const task of tasks) {
    const row = rows.find(({ name }) => name === task.name)
    if (!row || (!isDue(row, now) && !isActive(row) && !isTooFarAhead(row, now))) continue
    queued += await records.db
      .transaction()
      .execute(async (transaction) => ((await queueIfNeeded(transaction, task, now)) ? 1 : 0))
  }
  return queued
}

/** Queues one task under the write lock if its state requires it; true if it was queued. */
async function queueIfNeeded(transaction: RecordsTransaction, task: Task, now: number): Promise<boolean> {
  const row = await transaction
    .selectFrom('scheduled_tasks')
    .selectAll()
    .where('name', '=', task.name)
    .executeTakeFirst()
  if (!row) return false
  if (isActive(row)) {
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
  if (isTooFarAhead(row, now)) {
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

function isActive({ status }: ScheduledTaskRow): boolean {
  return status === 'queued' || status === 'running'
}

/** Whether the next execution is further away than the task's interval: the clock has been set back since it was computed. */
function isTooFarAhead(
  { status, next_execution_at: next, run_interval: interval }: ScheduledTaskRow,
  now: number,
): boolean {
  return status !== 'inactive' && next > now + interval
}

export async function change(db: RecordsDatabase, name: string, values: Partial<ScheduledTaskRow>): Promise<void> {
  await db.updateTable('scheduled_tasks').set(values).where('name', '=', name).execute()
}

/**
 * Schedules a task, and activates an inactive one: for its next time, or at once.
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

/** Deactivates a task; a running execution is not stopped. @throws WRONG_STATE while it is queued or running, unless `force` */
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
    hint: 'Use --force to change it anyway.',
  })
}

export async function readTask(db: RecordsDatabase, name: string): Promise<ScheduledTaskRow> {
  return db.selectFrom('scheduled_tasks').selectAll().where('name', '=', name).executeTakeFirstOrThrow()
}
