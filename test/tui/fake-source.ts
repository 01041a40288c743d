import type { Follower } from '../../src/operations/operation.ts'
import type { Source } from '../../src/tui/source.ts'
import type { Live, Progress, Watched } from '../../src/tui/tabs/warmup/watched.ts'

const began = Date.parse('2026-11-21T12:40:00.000Z')
const total = 120_000

/** One moment of a run at about 78 pages a second, `seconds` after its beginning; the same every time. */
export function watched(
  seconds: number,
  change: { status?: Progress['status']; live?: Partial<Live>; progress?: Partial<Progress> } = {},
): Watched {
  const done = Math.min(total, Math.round(seconds * 78))
  const failed = Math.floor(done / 1200)
  const skipped = Math.floor(done / 25)
  const at = began + seconds * 1000
  const ended = change.status !== undefined && change.status !== 'running' && change.status !== 'paused'
  const progress: Progress = {
    id: '0190c0de-1111-7000-8000-00000000012f',
    status: 'running',
    sales_channel_id: null,
    batch_size: 50,
    concurrency: null,
    total_urls: total,
    checked_urls: Math.min(total, done + 16),
    processed_urls: done - failed,
    skipped_urls: skipped,
    failed_urls: failed,
    remaining_urls: total - done,
    percentage: Math.floor((done * 10_000) / total) / 100,
    urls_per_second: 78,
    eta_seconds: Math.ceil((total - done) / 78),
    message: null,
    created_at: new Date(began).toISOString(),
    updated_at: new Date(at).toISOString(),
    finished_at: ended ? new Date(at).toISOString() : null,
    ...change.progress,
    ...(change.status && { status: change.status }),
  }
  return { success: true, progress, discovery: null, live: { ...live(seconds, at, progress), ...change.live } }
}

function live(seconds: number, at: number, progress: Progress): Live {
  return {
    at,
    updatedAt: at - 120,
    workers: [
      {
        id: 'w1',
        host: 'shop-1',
        pid: 4711,
        alive: true,
        at: at - 120,
        startedAt: began,
        done: progress.processed_urls,
        memory: { rss: 117_440_512, heapUsed: 60_000_000 },
        eventLoopDelay: { mean: 1.4, max: 9.2 },
      },
    ],
    behind: null,
    slots: Array.from({ length: 12 }, (_, index) => ({
      worker: 'w1',
      url: `https://shop.example/de/damen/schuhe/sneaker/sneaker-weiss-modell-${index + Math.floor(seconds)}`,
      since: at - 37 * (index + 1) ** 2,
      attempt: index === 7 ? 2 : 1,
    })),
    rate: { now: 78 + (seconds % 5), average: 76.2, peak: 93 },
    perSecond: Array.from({ length: 60 }, (_, index) =>
      Math.max(0, Math.round(70 + 22 * Math.sin((seconds + index) / 4))),
    ),
    latency: {
      p50: 112,
      p90: 340,
      p99: 1900,
      buckets: [3, 0, 0, 0, 4, 30, 210, 900, 2500, 1400, 300, 90, 20, 4].map((count, index) => ({
        upTo: 2 ** index,
        count,
      })),
    },
    results: {
      fetched: progress.processed_urls - progress.skipped_urls,
      fresh: progress.skipped_urls,
      notStored: { 'set-cookie': 31, private: 8, 'too-large': 1 },
      failed: { '404': 12, '503': 7, timeout: 5 },
    },
    slowest: Array.from({ length: 10 }, (_, index) => ({
      url: `https://shop.example/de/search?order=${index}&p=${index * 7}`,
      ms: 8100 - index * 640,
      at: at - index * 9000,
    })),
    failures: Array.from({ length: 20 }, (_, index) => ({
      url: `https://shop.example/fr/nouveautes/collection-${index}?p=${index + 14}`,
      status: index % 3 === 0 ? null : index % 3 === 1 ? 503 : 404,
      error:
        index % 3 === 0
          ? 'no headers within 10 s'
          : index % 3 === 1
            ? 'the shop answered 503 Service Unavailable'
            : 'the shop answered 404 Not Found',
      attempts: index % 3 === 2 ? 1 : 3,
      at: at - index * 4000,
    })),
    origins: [
      {
        origin: 'http://127.0.0.1:8000',
        concurrency: 12,
        limit: 12,
        configured: 16,
        delay: 0,
        throttled: { reason: 'latency', until: null },
        latency: 131,
        usualLatency: 112,
        requests: 4680,
        errors: 37,
      },
    ],
    eta: {
      seconds: Math.ceil(progress.remaining_urls / 78),
      low: Math.ceil(progress.remaining_urls / 93),
      high: Math.ceil(progress.remaining_urls / 55),
    },
  }
}

/** What a fake source was asked to do, with what. */
export interface Asked {
  operation: string
  input: object
}

/** A source that answers from a table, and remembers what it was asked. An `Error` is thrown; a function is called. */
export class FakeSource implements Source {
  readonly name: string
  readonly asked: Asked[] = []
  readonly answers: Record<string, unknown>

  constructor(answers: Record<string, unknown>, name = 'prod /srv/shop') {
    this.name = name
    this.answers = answers
  }

  async perform(operation: string, input: object, follower?: Follower): Promise<unknown> {
    this.asked.push({ operation, input })
    const answer = this.answers[operation]
    const value: unknown =
      typeof answer === 'function'
        ? await (answer as (input: object, follower?: Follower) => unknown)(input, follower)
        : answer
    if (value instanceof Error) throw value
    if (value === undefined) throw new Error(`Unknown operation ${operation}.`)
    return value
  }

  count(operation: string): number {
    return this.asked.filter((asked) => asked.operation === operation).length
  }
}
