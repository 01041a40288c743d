import type { App } from '../app.ts'
import { plural } from '../lib/format.ts'
import { dayLength } from '../lib/moment.ts'
import { realTiming } from '../lib/timing.ts'
import type { Handler } from '../queue/queue.ts'
import type { RemoveSlice } from '../schedule/remove-in-slices.ts'
import { nightly, type Task } from '../schedule/task.ts'
import { notifyTask } from './notify.ts'

/** Days for which a notification that could not be sent can be retried: later it is no news. */
const failedNotificationDays = 14

/** All scheduled tasks. Each opens the parts of the app that it needs when it runs. */
export function tasksOf(app: App): readonly Task[] {
  const { retention, reverseProxies, notify } = app.config
  return [
    nightly({
      name: 'vendor_cache.cleanup_reverse_proxy_log',
      run: ({ stop }) =>
        remove(app, stop, retention.reverseProxyLogDays, async () =>
          (await import('../purge/log/prune.ts')).makePrunePurges(reverseProxies.map(({ name }) => name)),
        ),
    }),
    nightly({
      name: 'vendor_cache.cleanup_invalidation_log',
      run: ({ stop }) =>
        remove(
          app,
          stop,
          retention.invalidationLogDays,
          async () => (await import('../purge/log/prune.ts')).pruneInvalidations,
        ),
    }),
    nightly({ name: 'vendor_cache.cleanup_pages', run: ({ stop }) => cleanUpPages(app, stop) }),
    nightly({
      name: 'vendor_stage.prune_events',
      // Each stage has its own retention, counted back from now.
      run: ({ stop }) => pruneStages(app, stop),
    }),
    ...(notify.webhooks.length === 0 ? [] : [notifyTask(app)]),
  ]
}

async function remove(
  app: App,
  stop: AbortSignal,
  days: number,
  load: () => Promise<RemoveSlice>,
): Promise<{ done: boolean; result: string }> {
  const [records, removeSlice, { removeInSlices }] = await Promise.all([
    app.records(),
    load(),
    import('../schedule/remove-in-slices.ts'),
  ])
  const { removed, done } = await removeInSlices(removeSlice, {
    records,
    before: app.now() - days * dayLength,
    timing: realTiming,
    stop,
  })
  return { done, result: `${plural(removed, 'row')} removed` }
}

async function pruneStages(app: App, stop: AbortSignal): Promise<{ done: boolean; result: string }> {
  const pruned = await remove(app, stop, 0, async () => (await import('../stages/prune.ts')).pruneEvents)
  // The write-ahead log still contains the deleted rows.
  await (await app.records()).truncateLog()
  return pruned
}

async function cleanUpPages(app: App, stop: AbortSignal): Promise<{ done: boolean; result: string }> {
  const { pruneRuns } = await import('../warmup/run/prune-runs.ts')
  const runs = await remove(app, stop, app.config.retention.warmupDays, async () => pruneRuns)
  const notifications = await remove(app, stop, failedNotificationDays, async () => {
    const [{ pruneFailed }, { notifyType }] = await Promise.all([
      import('../queue/failed.ts'),
      import('../notify/notification.ts'),
    ])
    return (records, slice) => pruneFailed(records, { ...slice, type: notifyType })
  })
  const pages = await app.pages()
  const { expired, orphans } = await pages.sweep()
  const fault = pages.fault()
  if (fault !== null) throw fault
  return {
    done: runs.done && notifications.done,
    result: `${plural(expired, 'page')} and ${plural(orphans, 'orphan')} removed; ended warmups: ${runs.result}; failed notifications: ${notifications.result}`,
  }
}

/** Makes the handlers of all tasks. */
export async function makeTaskHandlers(app: App): Promise<Handler[]> {
  const [records, { taskHandler }] = await Promise.all([app.records(), import('../schedule/task-handler.ts')])
  return tasksOf(app).map((task) => taskHandler(records, task, Date.now))
}

/** Runs the scheduler until `stop` is aborted. */
export async function schedule(app: App, stop: AbortSignal): Promise<void> {
  const [records, { runScheduler }] = await Promise.all([app.records(), import('../schedule/scheduler.ts')])
  await runScheduler({ records, tasks: tasksOf(app), now: Date.now, timing: realTiming, stop })
}
