import * as z from 'zod/mini'
import type { App } from '../app.ts'
import { PagecacheError } from '../errors.ts'
import type { ScheduledTaskRow } from '../records/task-rows.ts'
import type { Task } from '../schedule/task.ts'
import { count, described, flag, succeeded, success, text, toMemoryLimit } from './fields.ts'
import { defineOperation } from './operation.ts'
import { runTask, scheduleUntilStopped } from '../workers/run-tasks.ts'
import { tasksOf } from '../workers/tasks.ts'

const task = z.object({
  name: z.string(),
  nextExecution: z.nullable(z.string()).check(z.describe('ISO 8601, UTC; null while inactive')),
  lastExecution: z.nullable(z.string()),
  runInterval: described(count, 'seconds'),
  status: z.enum(['scheduled', 'queued', 'running', 'failed', 'skipped', 'inactive']),
  result: z.nullable(z.string()).check(z.describe('summary of the last run')),
  error: z.nullable(z.string()).check(z.describe('reason of the last failure')),
})
const name = described(text(), 'such as vendor_cache.cleanup_pages')

function toValue(row: ScheduledTaskRow): z.output<typeof task> {
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  return {
    name: row.name,
    nextExecution: row.status === 'inactive' ? null : iso(row.next_execution_at),
    lastExecution: iso(row.last_execution_at),
    runInterval: row.run_interval / 1000,
    status: row.status,
    result: row.result,
    error: row.error,
  }
}

export const listScheduledTasks = defineOperation({
  name: 'scheduled-task.list',
  summary: 'Lists the scheduled tasks with their times and status',
  input: z.object({}),
  output: z.object({ success, items: z.array(task) }),
  http: { method: 'GET', path: '/scheduled-task/list' },
  async run({ app }) {
    return { ...succeeded, items: (await rowsOf(app)).map(toValue) }
  },
})

export type ScheduledTasks = z.output<typeof listScheduledTasks.output>

async function rowsOf(app: App): Promise<ScheduledTaskRow[]> {
  const { readTasks } = await import('../schedule/scheduled-tasks.ts')
  return readTasks(await app.records(), tasksOf(app), Date.now())
}

/** Finds a task and registers it. @throws NOT_FOUND listing the known names */
async function findTask(app: App, wanted: string): Promise<Task> {
  const tasks = tasksOf(app)
  const found = tasks.find((task) => task.name === wanted)
  if (!found)
    throw new PagecacheError('NOT_FOUND', `There is no scheduled task "${wanted}".`, {
      hint: `Known tasks: ${tasks.map(({ name }) => name).join(', ')}.`,
    })
  await rowsOf(app)
  return found
}

export const scheduleTaskOnce = defineOperation({
  name: 'scheduled-task.schedule',
  summary: 'Schedules a task for its next regular time or now, and activates it if needed',
  input: z.object({ name, immediately: flag, force: described(flag, 'also if it is queued or running') }),
  output: z.object({ success, task }),
  http: { method: 'POST', path: '/scheduled-task/schedule' },
  async run({ app }, { name: wanted, immediately, force }) {
    const found = await findTask(app, wanted)
    const { scheduleTask } = await import('../schedule/scheduled-tasks.ts')
    return {
      ...succeeded,
      task: toValue(await scheduleTask(await app.records(), found, { now: Date.now(), immediately, force })),
    }
  },
})

export const deactivateScheduledTask = defineOperation({
  name: 'scheduled-task.deactivate',
  summary: 'Deactivates a task; a run in progress is not stopped',
  input: z.object({ name, force: described(flag, 'also if it is queued or running') }),
  output: z.object({ success, task }),
  http: { method: 'POST', path: '/scheduled-task/deactivate' },
  async run({ app }, { name: wanted, force }) {
    const found = await findTask(app, wanted)
    const { deactivateTask } = await import('../schedule/scheduled-tasks.ts')
    return { ...succeeded, task: toValue(await deactivateTask(await app.records(), found, { now: Date.now(), force })) }
  },
})

export const runSingleTask = defineOperation({
  name: 'scheduled-task.run-single',
  summary: 'Runs one task now and waits for it to finish',
  input: z.object({ name }),
  output: z.object({ success: z.boolean(), task }),
  http: { method: 'POST', path: '/scheduled-task/run-single' },
  async run({ app, signal }, { name: wanted }) {
    const found = await findTask(app, wanted)
    const row = await runTask(app, found, signal)
    return { success: row.status === 'scheduled' || row.status === 'skipped', task: toValue(row) }
  },
})

export const queueDueTasks = defineOperation({
  name: 'scheduled-task.queue-due',
  summary: 'Queues the due tasks for the workers of the scheduler transport',
  input: z.object({}),
  output: z.object({ success, end: z.literal('queued') }),
  http: { method: 'POST', path: '/scheduled-task/run' },
  async run({ app }) {
    const { queueDue } = await import('../schedule/scheduled-tasks.ts')
    await queueDue(await app.records(), tasksOf(app), Date.now())
    return { ...succeeded, end: 'queued' as const }
  },
})

export const runScheduledTasks = defineOperation({
  name: 'scheduled-task.run',
  summary: 'Queues due tasks for the workers of the scheduler transport until it is stopped',
  input: z.object({
    timeLimit: described(z.optional(z.int().check(z.minimum(1))), 'seconds'),
    memoryLimit: described(z.optional(z.string()), 'such as 128M'),
  }),
  output: z.object({ success, end: z.enum(['stopped', 'stop-workers', 'time', 'memory']) }),
  async run({ app, signal, report }, { timeLimit, memoryLimit }) {
    report({ kind: 'message', message: 'Queueing tasks whenever they are due. Stop with Ctrl-C.' })
    const end = await scheduleUntilStopped(app, {
      limits: {
        ...(timeLimit === undefined ? {} : { time: timeLimit * 1000 }),
        ...(memoryLimit === undefined ? {} : { memory: toMemoryLimit(memoryLimit) }),
      },
      stop: signal,
    })
    return { ...succeeded, end: end as 'stopped' | 'stop-workers' | 'time' | 'memory' }
  },
})
