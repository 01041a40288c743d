import type { App } from '../app.ts'
import type { Finding, Notifier } from '../notify/problems.ts'
import type { ConsumeEvent } from '../queue/consume-event.ts'
import type { Handler, WorkerPresence } from '../queue/queue.ts'
import type { Task } from '../schedule/task.ts'

const minute = 60_000

/** Makes the handler that sends notifications to the configured webhooks. */
export async function makeNotifyHandler(app: App): Promise<Handler> {
  const [{ notifyHandler }, { webhooksOf }] = await Promise.all([
    import('../notify/handler.ts'),
    import('../notify/notification.ts'),
  ])
  return notifyHandler({ webhooks: webhooksOf(app.config.notify), now: Date.now })
}

/** Looks for problems once a minute, in one process at a time. */
export function notifyTask(app: App): Task {
  return {
    name: 'pagecache.notify',
    runInterval: minute,
    nextAfter: (now) => (Math.floor(now / minute) + 1) * minute,
    async run() {
      const { checks } = await import('./notify-checks.ts')
      const settled = await Promise.allSettled(checks.map((check) => check(app)))
      const findings = settled.flatMap((each): Finding[] => (each.status === 'fulfilled' ? each.value : []))
      const queued = await (await openNotifier(app)).report(findings)
      // What could not be checked is neither a problem nor one that has passed.
      const errors = settled.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))
      return { done: true, result: [`${queued} queued`, ...errors].join('; ') }
    },
  }
}

async function openNotifier(app: App): Promise<Notifier> {
  const [{ Notifier: Opened }, { webhooksOf }, { db }] = await Promise.all([
    import('../notify/problems.ts'),
    import('../notify/notification.ts'),
    app.records(),
  ])
  const { environment } = app.loaded
  return new Opened({ db, webhooks: webhooksOf(app.config.notify), environment, now: app.now })
}

/** Notifies of worker processes that ended without leaving the queue: they were killed, or their machine is gone. */
export function reportLostWorkers(app: App, onEvent: (event: ConsumeEvent) => void): (event: ConsumeEvent) => void {
  if (app.config.notify.webhooks.length === 0) return onEvent
  return (event) => {
    onEvent(event)
    if (event.kind === 'buried') void reportLost(app, event.worker).catch(() => {})
  }
}

async function reportLost(app: App, worker: WorkerPresence): Promise<void> {
  const [notifier, { describeLoss }] = await Promise.all([openNotifier(app), import('./notify-checks.ts')])
  await notifier.raise(describeLoss(worker))
}
