import { pageTypes } from '../../pages/page.ts'
import type { PageStore } from '../../pages/page-store.ts'
import type { UnsafeCounts } from '../../cache/unsafe.ts'
import { results, type Result, type Traffic } from '../../traffic/traffic.ts'
import { one, rising, shared, type MetricsOptions, type Reading, type Sample } from './metric.ts'
import { readRecords } from './record-metrics.ts'
import { readShared } from './shared-metrics.ts'

const own = { aggregator: 'sum', type: 'counter' } as const

/** Statuses that are exported as 0 from the start: Prometheus sees a counter rise only if it existed before. */
const usualStatuses = [200, 304, 404, 429, 500, 502, 503, 504]

/** Every metric of this process except the histogram of durations. */
export function readings(options: MetricsOptions): Reading[] {
  return [
    ...readTraffic(options),
    ...readStages(options),
    ...readUnsafe(options),
    ...readLoad(options),
    ...readRejections(options),
    ...readStore(options),
    ...readWaiting(options),
    ...readShared(options),
    ...readRecords(options),
  ]
}

function readTraffic({ traffic, memory }: MetricsOptions): Reading[] {
  return [
    {
      ...own,
      name: 'pagecache_requests_total',
      help: 'Requests by result; those of visitors by sales channel and page type too',
      read: () => requestSamples(traffic),
    },
    {
      ...own,
      name: 'pagecache_responses_total',
      help: 'Responses by status',
      read: () =>
        [...traffic.statuses].flatMap((count, status) =>
          count === 0 && !usualStatuses.includes(status) ? [] : [[{ status: String(status) }, count] as const],
        ),
    },
    {
      ...own,
      name: 'pagecache_memory_bytes',
      help: 'Memory used by cached bodies and their bookkeeping',
      type: 'gauge',
      read: () => one(memory().bytes),
    },
    { ...own, name: 'pagecache_memory_pages', help: 'Pages in memory', type: 'gauge', read: () => one(memory().pages) },
  ]
}

/** Every result is exported as 0 from the start: Prometheus sees a counter rise only if it existed before. */
function requestSamples(traffic: Traffic): Sample[] {
  const nowhere = new Map<Result, number>(results.map((result) => [result, 0]))
  const samples: Sample[] = []
  for (const { channelId, type, result, counts } of traffic.series()) {
    if (channelId === '') nowhere.set(result, nowhere.get(result)! + counts.requests)
    else samples.push([{ result, type, channel: channelId }, counts.requests])
  }
  return [...[...nowhere].map(([result, requests]) => [{ result }, requests] as const), ...samples]
}

function readStages({ stages }: MetricsOptions): Reading[] {
  return [
    {
      ...own,
      name: 'pagecache_stage_events_total',
      help: 'Recorded events of popup stages',
      read: () => one(stages.recorded),
    },
    {
      ...own,
      name: 'pagecache_stage_events_ignored_total',
      help: 'Accepted events that were not counted',
      read: () => Object.entries(stages.ignored).map(([reason, count]) => [{ reason }, count]),
    },
    {
      ...own,
      name: 'pagecache_stage_events_refused_total',
      help: 'Refused track requests',
      read: () => Object.entries(stages.refused).map(([reason, count]) => [{ reason }, count]),
    },
  ]
}

const noUnsafe: UnsafeCounts = { pages: 0, writes: 0, failures: 0 }

function readUnsafe({ unsafe = () => noUnsafe }: MetricsOptions): Reading[] {
  return [
    {
      ...own,
      name: 'pagecache_unsafe_pages_total',
      help: 'Pages dropped by POST and other unsafe requests',
      read: rising(unsafe, (counts) => counts.pages),
    },
    {
      ...own,
      name: 'pagecache_unsafe_writes_total',
      help: 'Transactions in which unsafe requests dropped pages',
      read: rising(unsafe, (counts) => counts.writes),
    },
    {
      ...own,
      name: 'pagecache_unsafe_failures_total',
      help: 'Failed transactions of unsafe requests',
      read: rising(unsafe, (counts) => counts.failures),
    },
  ]
}

const noLoad = { counts: { active: 0, waiting: 0, rejected: 0 } }

function readLoad({ load = () => noLoad }: MetricsOptions): Reading[] {
  return [
    {
      ...own,
      name: 'pagecache_origin_active',
      help: 'Requests of visitors that shops are working on',
      type: 'gauge',
      read: () => one(load().counts.active),
    },
    {
      ...own,
      name: 'pagecache_origin_waiting',
      help: 'Requests of visitors that wait for a shop',
      type: 'gauge',
      read: () => one(load().counts.waiting),
    },
    {
      ...own,
      name: 'pagecache_origin_rejected_total',
      help: 'Requests of visitors that did not reach a shop, because too many waited',
      read: rising(load, ({ counts }) => counts.rejected),
    },
  ]
}

function readRejections({ rejections }: MetricsOptions): Reading[] {
  return [
    {
      ...own,
      name: 'pagecache_connections_rejected_total',
      help: 'Connections closed because they did not begin with a PROXY header of a trusted proxy',
      read: () => Object.entries(rejections?.counts ?? {}).map(([reason, count]) => [{ reason }, count]),
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
      help: 'Size of the stored bodies, compressed',
      read: () => byType('size'),
    },
    {
      ...shared,
      name: 'pagecache_pages_removed_bytes',
      help: 'Size of removed pages whose bodies are still on the disk',
      read: async () => one((await app().pages()).deadSize()),
    },
    {
      ...shared,
      name: 'pagecache_pages_original_bytes',
      help: 'Size of the stored bodies, uncompressed',
      read: () => byType('originalSize'),
    },
    {
      ...shared,
      name: 'pagecache_store_readable',
      help: '1 while the page store is readable',
      read: async () => one((await app().pages()).fault() === null ? 1 : 0),
    },
    {
      ...own,
      name: 'pagecache_bodies_damaged_total',
      help: 'Stored bodies that were missing or altered',
      read: countOf(app, (pages) => pages.damaged()),
    },
    {
      ...own,
      name: 'pagecache_store_failures_total',
      help: 'Pages that could not be stored: disk full, no permission, or the store was busy',
      read: countOf(app, (pages) => pages.unstored()),
    },
  ]
}

function readWaiting({ app }: MetricsOptions): Reading[] {
  return [
    {
      aggregator: 'sum',
      type: 'gauge',
      name: 'pagecache_pages_waiting_bytes',
      help: 'Memory of the pages that visitors got and that are not stored yet',
      read: async () => one((await app().pages()).waiting().bytes),
    },
  ]
}

/** A counter of the page stores of this process. */
function countOf(app: MetricsOptions['app'], count: (pages: PageStore) => number): () => Promise<Sample[]> {
  return rising(() => app().pages(), count)
}
