import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { App } from '../app.ts'
import { realTiming } from '../lib/timing.ts'
import type { Handler, WorkerStatistics } from '../queue/queue.ts'
import type { OriginOfChannel } from '../warmup/run/moves.ts'
import type { FetchPage } from '../warmup/run/warm-result.ts'

/** The longest `Retry-After` or `Crawl-delay` that is obeyed (milliseconds): a typing error in a shop must not stop a run for a day. */
const longestWait = 60_000

/** Makes the handler of warmup batches, and revives runs that have lost their messages. */
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
      longestWait,
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
 * The longest `Crawl-delay` in the robots.txt files of all channels of an origin, because they share its limits; null without one. A
 * channel that is not configured is that of `serve --origin`.
 */
function crawlDelayOf(app: App, origin: string, crawlDelays: Readonly<Record<string, number>>): number | null {
  const originOf = originsOf(app)
  const delays = Object.entries(crawlDelays).flatMap(([channelId, delay]) =>
    (originOf(channelId) ?? origin) === origin ? [delay] : [],
  )
  return delays.length > 0 ? Math.max(...delays) : null
}

/** A worker without a heartbeat for this long does not count (milliseconds). Workers send one every five seconds. */
const silentFor = 12_000

/** Whether a worker of another process handles warmup batches now. */
export async function isWorkedElsewhere(app: App): Promise<boolean> {
  const workers = await warmupWorkers(app)
  return workers.some(({ host, pid }) => host !== hostname() || pid !== process.pid)
}

export async function isWorkedAnywhere(app: App): Promise<boolean> {
  return (await warmupWorkers(app)).length > 0
}

async function warmupWorkers(app: App): Promise<WorkerStatistics[]> {
  const [{ batchType }, queue] = await Promise.all([import('../warmup/run/messages.ts'), app.queue()])
  const { workers } = await queue.statistics()
  const now = Date.now()
  return workers.filter(
    ({ types, stopping, seenAt, host, pid }) =>
      types.includes(batchType) && !stopping && now - seenAt <= silentFor && (host !== hostname() || isAlive(pid)),
  )
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
