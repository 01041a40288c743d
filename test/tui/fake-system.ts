import { once } from 'node:events'
import type { Follower } from '../../src/operations/operation.ts'
import { noTraffic } from '../../src/traffic/summary.ts'
import { watched } from './fake-source.ts'

/** The moment of all that follows. */
export const time = Date.parse('2026-11-21T12:51:40Z')
const iso = (ago: number) => new Date(time - ago).toISOString()
const id = (number: number) => `0190c0de-3333-7000-8000-${String(number).padStart(12, '0')}`

/** Visitors of an hour. */
function traffic() {
  const summary = (requests: number, misses: number) => ({
    ...noTraffic,
    requests,
    hits: requests - misses,
    misses,
    hitRatio: 1 - misses / requests,
    p95: 20 + misses / 4,
    originP95: 231.5,
    statuses: { '1xx': 0, '2xx': requests - 16, '3xx': 0, '4xx': 12, '5xx': 4 },
  })
  const series = Array.from({ length: 60 }, (_, minute) => ({
    at: iso((59 - minute) * 60_000),
    ...summary(2400 + ((minute * 311) % 900), 100 + ((minute * 37) % 300)),
  }))
  const topMisses = [
    ['shop.example/de/suche', 'Cache-Control: private', 4120],
    ['shop.example/de/%E9%9D%B4/%F0%9F%91%9F', 'not cached yet', 310],
    ['shop.example/de/damen/schuhe/sneaker-1', 'expired', 42],
  ] as const
  return {
    success: true,
    totals: summary(165_000, 14_520),
    series,
    topMisses: topMisses.map(([path, reason, requests]) => ({
      path,
      salesChannelId: id(1),
      reason,
      requests,
      originTime: requests * 130,
    })),
  }
}

/** Requests of the last minute, as `traffic.live` shows them. */
export function liveRequests(count: number) {
  const kinds = [
    ['hit', null, 200, 0.31, 'products', '/de/damen/schuhe/sneaker-1'],
    ['hit', null, 200, 0.28, 'categories', '/de/%E9%9D%B4/%F0%9F%91%9F'],
    ['miss', 'not cached yet', 200, 231.4, 'listings', '/de/wohnen'],
    ['pass', 'a path that is never cached', 200, 88.2, 'other', '/checkout/cart'],
    ['stale', 'stale while it is fetched anew', 200, 0.4, 'cms', '/de/'],
    ['error', 'the shop did not answer', 502, 10_002, 'products', '/de/damen/kleider/kleid-7'],
  ] as const
  return Array.from({ length: count }, (_, index) => {
    const [result, reason, status, ms, type, path] = kinds[index % kinds.length]!
    const at = iso((count - index) * 400)
    return { at, method: 'GET', result, reason, status, ms, type, salesChannelId: id(1), host: 'shop.example', path }
  })
}

/** A live operation: two processes and their requests, then silence. */
async function live(_: object, { emit, signal }: Follower) {
  await emit({ kind: 'processes', processes: 2 })
  await emit({ kind: 'requests', requests: liveRequests(60), notShown: 240 })
  await once(signal, 'abort')
  return { success: true }
}

/** What the operations of a busy system answer. */
export function system(): Record<string, unknown> {
  const type = (count: number, space: number) => ({
    count,
    spaceSaved: space,
    avgGenerationTime: 0.131,
    avgCacheHitTime: 0.0004,
  })
  return {
    status: {
      version: '1.2.3',
      daemon: { pid: 4711, url: 'http://127.0.0.1:8080', startedAt: iso(7_380_000), mismatch: null },
    },
    'traffic.read': traffic(),
    'traffic.live': live,
    'cache.stats': {
      totalFiles: 73_680,
      totalSize: 412_000_000,
      totalSizeFormatted: '392.91 MB',
      byType: { products: 51_200, categories: 2400, cms: 80, listings: 18_000, buybox: 2000 },
      aggregated: {
        totalPages: 73_680,
        totalOriginalSize: 1_900_000_000,
        totalCachedSize: 412_000_000,
        totalSpaceSaved: 1_488_000_000,
        avgGenerationTime: 0.131,
        avgCacheHitTime: 0.0004,
        compressionEnabled: true,
      },
      byTypeDetailed: {
        product: type(51_200, 1_000_000_000),
        category: type(2400, 90_000_000),
        cms: type(80, 1_000_000),
        listing: type(18_000, 390_000_000),
        buybox: type(2000, 7_000_000),
      },
    },
    'warmup.watch': watched(700),
    'warmup.failures': {
      success: true,
      progressId: '0190c0de-1111-7000-8000-00000000012f',
      total: 45,
      limit: 500,
      offset: 0,
      reasons: [],
      items: Array.from({ length: 45 }, (_, index) => ({
        url: `https://shop.example/de/warenkorb/${index}`,
        variant: 0,
        status: 503,
        error: 'the shop answered 503 Service Unavailable',
        attempts: 3,
        at: iso(5000 * index),
      })),
    },
    'purgeLog.stats': {
      overview: { totalPurges: 18_240, distinctUrls: 812, distinctTags: 3011, avgResponseTime: 3.2 },
      hourly: Array.from({ length: 24 }, (_, hour) => ({
        hour: iso((23 - hour) * 3_600_000),
        purges: 300 + ((hour * 137) % 900),
      })),
      topTags: [
        'theme-config-3cb8201e7ff1e7777446032ef1bf4338',
        'product-0190c0de000070008000000000000001',
        'navigation',
      ].map((tag, index) => ({ tag, count: 9000 >> (index * 2) })),
      proxies: [
        { name: 'varnish-1', pending: 0, oldestPending: null, failed: 0 },
        { name: 'varnish-2', pending: 12, oldestPending: iso(180_000), failed: 1 },
      ],
    },
    'purgeLog.recent': { success: true, total: 240, limit: 200, offset: 0, items: purges() },
    'invalidationLog.recent': { success: true, total: 90, limit: 200, offset: 0, items: invalidations() },
    'cluster.nodes': { success: true, clustered: false, total: 0, limit: 1000, offset: 0, items: [] },
    'messenger.stats': {
      success: true,
      transports: [
        { name: 'async', count: 420, waiting: 412, delayed: 3, held: 5, oldestAge: 94.2 },
        { name: 'scheduler', count: 0, waiting: 0, delayed: 0, held: 0, oldestAge: null },
        { name: 'failed', count: 2, waiting: 0, delayed: 0, held: 0, oldestAge: null },
      ],
      workers: [
        {
          id: id(1),
          host: 'shop-1',
          pid: 4711,
          kind: 'daemon',
          transports: ['async'],
          types: ['purge.deliver', 'warmup.batch'],
          startedAt: iso(900_000),
          seenAt: iso(900),
          stopping: false,
          current: [{ id: id(7), type: 'purge.deliver', group: 'proxy:varnish-1' }],
        },
        {
          id: id(2),
          host: 'shop-2',
          pid: 815,
          kind: 'consumer',
          transports: ['async'],
          types: ['warmup.batch'],
          startedAt: iso(800_000),
          seenAt: iso(30_000),
          stopping: false,
          current: [],
        },
      ],
      failed: 2,
    },
    'scheduled-task.list': {
      success: true,
      items: [
        {
          name: 'vendor_cache.cleanup_reverse_proxy_log',
          nextExecution: iso(-40_000_000),
          lastExecution: iso(46_000_000),
          runInterval: 86_400,
          status: 'scheduled',
          result: '12,480 rows removed',
          error: null,
        },
        {
          name: 'vendor_cache.cleanup_invalidation_log',
          nextExecution: iso(-40_000_000),
          lastExecution: iso(46_000_000),
          runInterval: 86_400,
          status: 'failed',
          result: null,
          error: 'the disk is full',
        },
        {
          name: 'vendor_cache.cleanup_pages',
          nextExecution: iso(0),
          lastExecution: iso(86_000_000),
          runInterval: 86_400,
          status: 'running',
          result: null,
          error: null,
        },
        {
          name: 'vendor_stage.prune_events',
          nextExecution: null,
          lastExecution: null,
          runInterval: 86_400,
          status: 'inactive',
          result: null,
          error: null,
        },
      ],
    },
    'messenger.failed': {
      success: true,
      total: 2,
      limit: 100,
      offset: 0,
      items: [1, 2].map((number) => ({
        id: id(40 + number),
        type: 'purge.deliver',
        transport: 'async',
        group: 'proxy:varnish-2',
        attempts: 9,
        crashes: 0,
        error: 'the proxy answered 500',
        createdAt: iso(400_000),
        failedAt: iso(60_000 * number),
      })),
    },
  }
}

function invalidations() {
  return Array.from({ length: 12 }, (_, index) => {
    const everything = index === 2 || index === 9
    return {
      id: id(100 + index),
      at: iso(20_000 * index),
      source: index % 3 === 2 ? 'api' : 'purge-method',
      mode: 'hard' as const,
      actor: index % 3 === 2 ? 'erp-sync' : null,
      scope: everything ? 'all' : 'tags',
      value: everything ? null : `product-${index}, navigation`,
      pagesRemoved: everything ? 73_000 : index * 3,
      unconfirmed: [],
    }
  })
}

function purges() {
  return Array.from({ length: 60 }, (_, index) => ({
    id: id(500 + index),
    createdAt: iso(900 * index),
    kind: index % 20 === 9 ? 'all' : index % 4 === 1 ? 'url' : 'tag',
    url: index % 20 !== 9 && index % 4 === 1 ? `https://shop.example/de/damen/schuhe/sneaker-${index}` : null,
    tag: index % 20 !== 9 && index % 4 !== 1 ? `product-0190c0de000070008000${String(index).padStart(12, '0')}` : null,
    type: null,
    value: null,
    entityType: null,
    entityId: null,
    entityNumber: null,
    invalidationId: id(100 + (index % 12)),
    source: 'purge-method',
    mode: 'hard' as const,
    pagesRemoved: index % 20 === 9 ? 73_000 : index % 5,
    unconfirmed: [],
    responseTime: 3.1,
    proxies: [
      { name: 'varnish-1', status: 'delivered', attempts: 1, responseTime: 2.4, error: null },
      index % 6 === 0
        ? {
            name: 'varnish-2',
            status: 'pending',
            attempts: 3,
            responseTime: null,
            error: 'connect ECONNREFUSED 10.0.0.7:6081',
          }
        : { name: 'varnish-2', status: 'delivered', attempts: 1, responseTime: 3.9, error: null },
    ],
  }))
}
