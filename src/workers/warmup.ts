import { randomUUID } from 'node:crypto'
import type { App } from '../app.ts'
import { realTiming } from '../lib/timing.ts'
import type { Handler } from '../queue/queue.ts'
import type { OriginOfChannel } from '../warmup/run/moves.ts'
import type { FetchPage } from '../warmup/run/warm-result.ts'

/** Cap for `Retry-After` and `Crawl-delay` (milliseconds): a typo in a shop must not stop a run for a day. */
const maxWait = 60_000

/** Makes the handler of warmup batches. Running runs that have lost their messages are queued again. */
export async function makeWarmupHandler(app: App): Promise<Handler> {
  const [{ warmupHandler }, { toPasses }, { processVitals }, { reviveRuns }] = await Promise.all([
    import('../warmup/run/handler.ts'),
    import('../warmup/run/variant.ts'),
    import('../warmup/run/vitals.ts'),
    import('../warmup/run/revive.ts'),
  ])
  const records = await app.records()
  await reviveRuns(records, originsOf(app))
  const { concurrency, requestsPerSecond, retries, variants } = app.config.warmup
  return warmupHandler({
    records,
    rulesFor: (origin, crawlDelays) => ({
      concurrency,
      requestsPerSecond,
      crawlDelay: crawlDelayOf(app, origin, crawlDelays),
      retries,
      maxWait,
    }),
    fetchPage: fetchThroughCache(app),
    passes: toPasses(variants),
    timing: realTiming,
    random: Math.random,
    vitals: processVitals(),
    worker: randomUUID(),
  })
}

/** The proxy is opened by the first page: a worker that never meets a warmup does without. */
function fetchThroughCache(app: App): FetchPage {
  let opened: Promise<FetchPage> | null = null
  const open = async (): Promise<FetchPage> => {
    const [{ cache }, { toFetchPage }] = await Promise.all([
      app.storefrontCache(),
      import('../warmup/run/fetch-page.ts'),
    ])
    return toFetchPage(cache, app.now, app.config.warmup.timeout)
  }
  return async (url, options) => {
    opened ??= open().catch((error: unknown) => {
      opened = null
      throw error
    })
    return (await opened)(url, options)
  }
}

export function originsOf(app: App): OriginOfChannel {
  const origins = new Map(app.config.salesChannels.map(({ id, origin }) => [id, new URL(origin).origin]))
  return (channelId) => origins.get(channelId) ?? null
}

/**
 * The crawl delay of an origin, in milliseconds: the longest that robots.txt of any of its channels asks for. A channel that is not
 * configured is the one of `serve --origin`.
 */
function crawlDelayOf(app: App, origin: string, crawlDelays: Readonly<Record<string, number>>): number | null {
  const originOf = originsOf(app)
  const delays = Object.entries(crawlDelays).flatMap(([channelId, delay]) =>
    (originOf(channelId) ?? origin) === origin ? [delay] : [],
  )
  return delays.length > 0 ? Math.max(...delays) : null
}
