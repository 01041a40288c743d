import type { App } from '../app.ts'
import type { Handler } from '../queue/queue.ts'

const batchSize = 50

/** What warms purged pages again, where `warmup.afterPurge` says so. */
export async function makeAfterPurgeHandler(app: App): Promise<Handler> {
  const { afterPurgeHandler, afterPurgeMessage } = await import('../warmup/after-purge.ts')
  const { afterPurge } = app.config.warmup
  if (afterPurge !== null) await (await app.queue()).dispatch([afterPurgeMessage(afterPurge)])
  return afterPurgeHandler({
    records: await app.records(),
    delay: afterPurge,
    now: Date.now,
    batchSize,
    plan: async (urls, signal) => {
      const { makePlan } = await import('../operations/warmup-start.ts')
      return makePlan({ app, signal, report: () => {} }, { salesChannelId: null, urls })
    },
  })
}
