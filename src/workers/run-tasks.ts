import type { App } from '../app.ts'
import { settle } from '../lib/settle.ts'
import { realTiming } from '../lib/timing.ts'
import type { Consumed, ConsumeLimits } from '../queue/consume.ts'
import type { ScheduledTaskRow } from '../records/task-rows.ts'
import type { Task } from '../schedule/task.ts'
import { schedule } from './tasks.ts'
import { consumeWith } from './workers.ts'

/** Polling interval for a task that another worker may run, in ms. */
const pollInterval = 200

/** Runs a task now, in this process or in another worker that claims it first, and resolves to its row when it has ended. */
export async function runTask(app: App, task: Task, signal: AbortSignal): Promise<ScheduledTaskRow> {
  const records = await app.records()
  const [{ change, queueTask, readTask }, { taskHandler }] = await Promise.all([
    import('../schedule/scheduled-tasks.ts'),
    import('../schedule/task-handler.ts'),
  ])
  const inactive = (await readTask(records.db, task.name)).status === 'inactive'
  await records.db.transaction().execute((transaction) => queueTask(transaction, task, Date.now()))
  const ended = new AbortController()
  const consuming = consumeWith(app, [taskHandler(records, task, Date.now)], {
    kind: 'consumer',
    transports: ['scheduler'],
    stop: AbortSignal.any([signal, ended.signal]),
    onEvent: () => {},
  })
  const waiting = async () => {
    const isPending = async () => ['queued', 'running'].includes((await readTask(records.db, task.name)).status)
    while (!signal.aborted && (await isPending())) await realTiming.sleep(pollInterval, signal)
  }
  await settle([waiting().finally(() => ended.abort()), consuming])
  const row = await readTask(records.db, task.name)
  // A single run does not activate the task.
  if (inactive) await change(records.db, task.name, { status: 'inactive' })
  return row
}

/** Queues due tasks until `stop` is aborted or a limit is reached. Returns why it ended. */
export async function scheduleUntilStopped(
  app: App,
  { limits, stop }: { limits: ConsumeLimits; stop: AbortSignal },
): Promise<Consumed['end']> {
  const ended = new AbortController()
  const end = () => ended.abort()
  const control = { limits, stop: AbortSignal.any([stop, ended.signal]) }
  // A worker without transports handles messenger:stop-workers, signals and limits like any other.
  const [consumed] = await settle([
    consumeWith(app, [], { kind: 'consumer', transports: [], ...control, onEvent: () => {} }).finally(end),
    schedule(app, ended.signal).finally(end),
  ])
  return consumed.end
}
