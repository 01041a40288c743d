import { readProxyStates } from '../../purge/deliver/proxy-state.ts'
import { readPurgeTotals } from '../../purge/log/totals.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import { readWarmupSummary } from '../../warmup/run/summary.ts'
import { one, shared, type MetricsOptions, type Reading, type Sample } from './metric.ts'

/** Shares one read between the metrics of a scrape. */
function oncePerScrape<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null
  return () => (reading ??= read().finally(() => (reading = null)))
}

/** Metrics that are read from the records. */
export function readRecords({ app }: MetricsOptions): Reading[] {
  const database = async () => (await app().records()).db
  const usable: Reading = {
    ...shared,
    name: 'pagecache_records_usable',
    help: '1 while the records file is usable, 0 once it was deleted or replaced',
    read: async () => one((await app().recordsProblem()) === null ? 1 : 0),
  }
  return [usable, ...readQueue(app), ...readPurges(app, database), ...readWarmups(app, database)]
}

function readQueue(app: MetricsOptions['app']): Reading[] {
  const queue = oncePerScrape(async () => (await app().queue()).statistics())
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
      help: 'Age of the oldest message that is ready',
      read: async () =>
        (await queue()).transports.map(({ name, oldestAge }) => [{ transport: name }, (oldestAge ?? 0) / 1000]),
    },
    {
      ...shared,
      name: 'pagecache_queue_workers',
      help: 'Processes that consume messages',
      read: async () => one((await queue()).workers.length),
    },
  ]
}

function readPurges(app: MetricsOptions['app'], database: () => Promise<RecordsDatabase>): Reading[] {
  const totals = oncePerScrape(async () => readPurgeTotals(await database()))
  const proxies = oncePerScrape(async () =>
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
      help: 'Recorded purges',
      read: async () => one((await totals()).purges),
    },
    {
      ...shared,
      type: 'counter',
      name: 'pagecache_invalidations_total',
      help: 'Recorded invalidations',
      read: async () => one((await totals()).invalidations),
    },
    {
      ...shared,
      name: 'pagecache_purge_backlog',
      help: 'Purges that a reverse proxy has not acknowledged',
      read: async () =>
        (await proxies()).flatMap(({ name, pending, failed }) => [
          [{ proxy: name, state: 'pending' }, pending],
          [{ proxy: name, state: 'failed' }, failed],
        ]),
    },
    {
      ...shared,
      name: 'pagecache_purge_backlog_oldest_seconds',
      help: 'Age of the oldest pending purge of a reverse proxy',
      read: async () => (await proxies()).map(({ name, oldestPending }) => [{ proxy: name }, age(oldestPending)]),
    },
    {
      ...shared,
      name: 'pagecache_reverse_proxy_up',
      help: '0 after a failed delivery to a reverse proxy, until one succeeds',
      read: async () => (await proxies()).map(({ name, failures }) => [{ proxy: name }, failures === 0 ? 1 : 0]),
    },
  ]
}

function readWarmups(app: MetricsOptions['app'], database: () => Promise<RecordsDatabase>): Reading[] {
  const standing = oncePerScrape(async () => readWarmupSummary(await database(), app().now()))
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
      help: 'Remaining URLs of unfinished warmups',
      read: async () => one((await standing()).remaining),
    },
    {
      ...shared,
      name: 'pagecache_warmup_urls_failed',
      help: 'Failed URLs of unfinished warmups',
      read: async () => one((await standing()).failed),
    },
    {
      ...shared,
      name: 'pagecache_warmup_urls_per_second',
      help: 'Combined rate of running warmups',
      read: async () => one((await standing()).urlsPerSecond),
    },
  ]
}
