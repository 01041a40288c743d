import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client'
import type { App } from '../../app.ts'
import { pageTypes } from '../../pages/page.ts'
import type { PageStore } from '../../pages/page-store.ts'
import { readProxyStates } from '../../purge/deliver/proxy-state.ts'
import type { UnsafeCounts } from '../../cache/unsafe.ts'
import { readPurgeTotals } from '../../purge/log/totals.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import type { StageCounts } from '../../stages/counts.ts'
import { readWarmupSummary } from '../../warmup/run/summary.ts'
import { durationBounds, results, type Traffic } from '../front/traffic.ts'

export interface MetricsOptions {
  /** The app of now: a reload brings another one. */
  app(): App
  traffic: Traffic
  stages: StageCounts
  /** Bodies in the memory of this process. */
  memory(): { bytes: number; pages: number }
  /** What unsafe requests have dropped; a reload begins another count. */
  unsafe?(): UnsafeCounts
}

type Sample = readonly [labels: Record<string, string>, value: number]
type Aggregator = 'sum' | 'first' | 'max'

/** One metric that is read when it is asked for. `first`: of something that all processes share. */
interface Reading {
  name: string
  help: string
  type: 'counter' | 'gauge'
  aggregator: Aggregator
  read(): readonly Sample[] | Promise<readonly Sample[]>
}

const shared = { aggregator: 'first', type: 'gauge' } as const
const one = (value: number): Sample[] => [[{}, value]]

/** All processes of a daemon tell what they know; see src/daemon/processes.ts. */
export type MetricValues = MetricObjectWithValues<MetricValue<string>>[]

export interface Metrics {
  /** What this process has to tell. */
  values(): Promise<MetricValues>
  /** The metrics of several processes as one text, in the exposition format of Prometheus. */
  toText(processes: readonly MetricValues[]): Promise<{ type: string; text: string }>
}

/** Sums over a label that end like counters and are none; Prometheus makes them itself of the metrics without that ending. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** Of several processes the slowest one, and the one that was started last: an average would hide the first, and the second is left out. */
const ofTheWorst = [
  'nodejs_eventloop_lag_seconds',
  'nodejs_eventloop_lag_p50_seconds',
  'nodejs_eventloop_lag_p90_seconds',
  'nodejs_eventloop_lag_p99_seconds',
  'process_start_time_seconds',
]

/** Told from the beginning, as 0: Prometheus sees a counter rise only where it was there before. */
const usualStatuses = [200, 304, 404, 429, 500, 502, 503, 504]

/** The metrics of this process. Nothing is worked out before somebody asks. */
export async function openMetrics(options: MetricsOptions): Promise<Metrics> {
  const { Registry, AggregatorRegistry, collectDefaultMetrics } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  for (const name of ofTheWorst)
    Object.assign(registry.getSingleMetric(name)!, { aggregator: 'max' satisfies Aggregator })
  for (const reading of [...readTraffic(options), ...readStore(options), ...readRecords(options)])
    register(registry, reading)
  registerDurations(registry, options.traffic)
  return {
    values: async () => (await registry.getMetricsAsJSON()) as MetricValues,
    toText: async (processes) => {
      const all = AggregatorRegistry.aggregate(processes as unknown as object[][])
      return { type: all.contentType, text: await all.metrics() }
    },
  }
}

function register(registry: Registry, { name, help, type, aggregator, read }: Reading): void {
  // What cannot be read now is missing for once; the rest is told all the same.
  const samples = async () => {
    try {
      return await read()
    } catch {
      return []
    }
  }
  const metric = {
    name,
    get: async () => ({
      name,
      help,
      type,
      aggregator,
      values: (await samples()).map(([labels, value]) => ({ labels, value })),
    }),
  }
  registry.registerMetric(metric as never)
}

/** A histogram that was counted elsewhere: what prom-client's own takes for each hit is more than we have. */
function registerDurations(registry: Registry, traffic: Traffic): void {
  const name = 'pagecache_request_duration_seconds'
  const metric = {
    name,
    get: () => ({
      name,
      help: 'Time until an answer began, by what became of the request',
      type: 'histogram',
      aggregator: 'sum',
      values: results.flatMap((result) => {
        const { count, sum, buckets } = traffic.durations[result]
        let upTo = 0
        const cumulative = [...durationBounds, '+Inf'].map((le, bucket) => ({
          labels: { result, le: String(le) },
          value: (upTo += buckets[bucket]!),
          metricName: `${name}_bucket`,
        }))
        return [
          ...cumulative,
          { labels: { result }, value: sum, metricName: `${name}_sum` },
          { labels: { result }, value: count, metricName: `${name}_count` },
        ]
      }),
    }),
  }
  registry.registerMetric(metric as never)
}

function readTraffic({ traffic, stages, memory, unsafe = () => noUnsafe }: MetricsOptions): Reading[] {
  const own = { aggregator: 'sum' } as const
  return [
    {
      ...own,
      name: 'pagecache_requests_total',
      help: 'Requests by what became of them',
      type: 'counter',
      read: () => results.map((result) => [{ result }, traffic.durations[result].count]),
    },
    {
      ...own,
      name: 'pagecache_responses_total',
      help: 'Responses by status',
      type: 'counter',
      read: () =>
        [...traffic.statuses].flatMap((count, status) =>
          count === 0 && !usualStatuses.includes(status) ? [] : [[{ status: String(status) }, count] as const],
        ),
    },
    {
      ...own,
      name: 'pagecache_memory_bytes',
      help: 'Bodies in memory, with what is held for them',
      type: 'gauge',
      read: () => one(memory().bytes),
    },
    { ...own, name: 'pagecache_memory_pages', help: 'Pages in memory', type: 'gauge', read: () => one(memory().pages) },
    {
      ...own,
      name: 'pagecache_stage_events_total',
      help: 'Events of popup stages that were recorded',
      type: 'counter',
      read: () => one(stages.recorded),
    },
    {
      ...own,
      name: 'pagecache_stage_events_ignored_total',
      help: 'Events that were not counted',
      type: 'counter',
      read: () => Object.entries(stages.ignored).map(([reason, count]) => [{ reason }, count]),
    },
    {
      ...own,
      name: 'pagecache_stage_events_refused_total',
      help: 'Track requests that were refused',
      type: 'counter',
      read: () => Object.entries(stages.refused).map(([reason, count]) => [{ reason }, count]),
    },
    {
      ...own,
      name: 'pagecache_unsafe_pages_total',
      help: 'Pages that POST and other unsafe requests have dropped',
      type: 'counter',
      read: rising(unsafe, (counts) => counts.pages),
    },
    {
      ...own,
      name: 'pagecache_unsafe_writes_total',
      help: 'Transactions in which unsafe requests have dropped pages',
      type: 'counter',
      read: rising(unsafe, (counts) => counts.writes),
    },
    {
      ...own,
      name: 'pagecache_unsafe_failures_total',
      help: 'Transactions of unsafe requests that failed',
      type: 'counter',
      read: rising(unsafe, (counts) => counts.failures),
    },
  ]
}

function readStore({ app }: MetricsOptions): Reading[] {
  const byType = async (what: 'count' | 'size' | 'originalSize'): Promise<Sample[]> => {
    const counters = (await app().pages()).counters()
    return pageTypes.map((type) => [{ type }, counters[type][what]])
  }
  return [
    { ...shared, name: 'pagecache_pages', help: 'Pages in the store', read: () => byType('count') },
    {
      ...shared,
      name: 'pagecache_pages_bytes',
      help: 'Bodies in the store, as they are stored',
      read: () => byType('size'),
    },
    {
      ...shared,
      name: 'pagecache_pages_original_bytes',
      help: 'The same bodies without compression',
      read: () => byType('originalSize'),
    },
    {
      ...shared,
      name: 'pagecache_store_readable',
      help: '1 while the page store can be read',
      read: async () => one((await app().pages()).fault() === null ? 1 : 0),
    },
    {
      aggregator: 'sum',
      type: 'counter',
      name: 'pagecache_bodies_damaged_total',
      help: 'Stored bodies that were missing or altered',
      read: countOf(app, (pages) => pages.damaged()),
    },
    {
      aggregator: 'sum',
      type: 'counter',
      name: 'pagecache_store_failures_total',
      help: 'Pages that could not be stored, for want of room, rights or a turn to write',
      read: countOf(app, (pages) => pages.unstored()),
    },
  ]
}

const noUnsafe: UnsafeCounts = { pages: 0, writes: 0, failures: 0 }

/** What the stores of this process have counted. */
function countOf(app: MetricsOptions['app'], count: (pages: PageStore) => number): () => Promise<Sample[]> {
  return rising(() => app().pages(), count)
}

/** The sum of what several sources have counted, one after the other: a reload opens another one, which begins at 0. */
function rising<Source>(
  current: () => Source | Promise<Source>,
  count: (source: Source) => number,
): () => Promise<Sample[]> {
  let source: Source | null = null
  let [before, last] = [0, 0]
  return async () => {
    const now = await current()
    if (now !== source) before += last
    source = now
    last = count(now)
    return one(before + last)
  }
}

/** What is asked again while it is being read is read once: several metrics of one scrape come from it. */
function together<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null
  return () => (reading ??= read().finally(() => (reading = null)))
}

function readRecords({ app }: MetricsOptions): Reading[] {
  const database = async () => (await app().records()).db
  const usable: Reading = {
    ...shared,
    name: 'pagecache_records_usable',
    help: '1 while the records are the file that was opened, 0 while it is deleted or replaced',
    read: async () => one((await app().recordsFault()) === null ? 1 : 0),
  }
  return [usable, ...readQueue(app), ...readPurges(app, database), ...readWarmups(app, database)]
}

function readQueue(app: MetricsOptions['app']): Reading[] {
  const queue = together(async () => (await app().queue()).statistics())
  return [
    {
      ...shared,
      name: 'pagecache_queue_messages',
      help: 'Messages by transport and state',
      read: async () =>
        (await queue()).transports.flatMap(({ name, waiting, delayed, held, count }) => {
          const states = name === 'failed' ? { failed: count } : { waiting, delayed, held }
          return Object.entries(states).map(([state, number]): Sample => [{ transport: name, state }, number])
        }),
    },
    {
      ...shared,
      name: 'pagecache_queue_oldest_seconds',
      help: 'How long the oldest message that may be taken has waited',
      read: async () =>
        (await queue()).transports.map(({ name, oldestAge }) => [{ transport: name }, (oldestAge ?? 0) / 1000]),
    },
    {
      ...shared,
      name: 'pagecache_queue_workers',
      help: 'Processes that take messages',
      read: async () => one((await queue()).workers.length),
    },
  ]
}

function readPurges(app: MetricsOptions['app'], database: () => Promise<RecordsDatabase>): Reading[] {
  const totals = together(async () => readPurgeTotals(await database()))
  const proxies = together(async () =>
    readProxyStates(
      await database(),
      app().config.reverseProxies.map(({ name }) => name),
      app().now(),
    ),
  )
  const age = (at: string | null) => (at === null ? 0 : Math.max(0, app().now() - Date.parse(at)) / 1000)
  return [
    {
      ...shared,
      type: 'counter',
      name: 'pagecache_purges_total',
      help: 'Purges that were recorded',
      read: async () => one((await totals()).purges),
    },
    {
      ...shared,
      type: 'counter',
      name: 'pagecache_invalidations_total',
      help: 'Invalidations that were recorded',
      read: async () => one((await totals()).invalidations),
    },
    {
      ...shared,
      name: 'pagecache_purge_backlog',
      help: 'Purges that a reverse proxy was not told of',
      read: async () =>
        (await proxies()).flatMap(({ name, pending, failed }) => [
          [{ proxy: name, state: 'pending' }, pending],
          [{ proxy: name, state: 'failed' }, failed],
        ]),
    },
    {
      ...shared,
      name: 'pagecache_purge_backlog_oldest_seconds',
      help: 'For how long the oldest pending purge of a reverse proxy has waited',
      read: async () => (await proxies()).map(({ name, oldestPending }) => [{ proxy: name }, age(oldestPending)]),
    },
    {
      ...shared,
      name: 'pagecache_reverse_proxy_up',
      help: '0 while a reverse proxy does not take purges, as far as it was tried',
      read: async () => (await proxies()).map(({ name, failures }) => [{ proxy: name }, failures === 0 ? 1 : 0]),
    },
  ]
}

function readWarmups(app: MetricsOptions['app'], database: () => Promise<RecordsDatabase>): Reading[] {
  const standing = together(async () => readWarmupSummary(await database(), app().now()))
  return [
    {
      ...shared,
      name: 'pagecache_warmup_runs',
      help: 'Warmups by status',
      read: async () => Object.entries((await standing()).runs).map(([status, count]) => [{ status }, count]),
    },
    {
      ...shared,
      name: 'pagecache_warmup_urls_remaining',
      help: 'URLs that open warmups still have before them',
      read: async () => one((await standing()).remaining),
    },
    {
      ...shared,
      name: 'pagecache_warmup_urls_failed',
      help: 'URLs that open warmups could not warm',
      read: async () => one((await standing()).failed),
    },
    {
      ...shared,
      name: 'pagecache_warmup_urls_per_second',
      help: 'How fast running warmups are',
      read: async () => one((await standing()).urlsPerSecond),
    },
  ]
}
