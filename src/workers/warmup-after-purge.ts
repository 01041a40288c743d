import type { App } from '../app.ts'
import type { Handler } from '../queue/queue.ts'

const batchSize = 50

/** Makes the handler that warms purged pages again: all if `warmup.afterPurge` is set, else those that `purge.softAbove` kept. */
export async function makeAfterPurgeHandler(app: App): Promise<Handler> {
  const [{ afterPurgeHandler, afterPurgeMessage }, { isRecordingUrls, readPurgedPages }] = await Promise.all([
    import('../warmup/after-purge.ts'),
    import('../purge/log/purged-pages.ts'),
  ])
  const records = await app.records()
  const { afterPurge } = app.config.warmup
  if (afterPurge !== null) await (await app.queue()).dispatch([afterPurgeMessage(afterPurge)])
  return afterPurgeHandler({
    records,
    purgedSince: (since, which) => readPurgedPages(records, since, which),
    isRecording: (since) => isRecordingUrls(records, since),
    delay: afterPurge,
    now: Date.now,
    batchSize,
    plan: async (urls, signal) => {
      const { makePlan } = await import('./plan-warmup.ts')
      return makePlan(app, { salesChannelId: null, urls, order: 'hits', signal, onProgress: () => {} })
    },
  })
}
