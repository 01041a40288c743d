import { onTestFinished } from 'vitest'
import { realTiming } from '../../../src/lib/timing.ts'
import { deliverHandler } from '../../../src/purge/deliver/deliver.ts'
import type { DeliverSettings } from '../../../src/purge/deliver/delivery.ts'
import type { Target } from '../../../src/purge/invalidation.ts'
import { consume } from '../../../src/queue/consume.ts'
import { openQueue } from '../../../src/queue/records-queue.ts'
import { openPurges } from '../purges.ts'

/** Generous times, so that a slow test machine does not look like a slow proxy. */
export const settings: DeliverSettings = {
  timeout: 20_000,
  retryFor: 86_400_000,
  everythingAbove: 1000,
  settle: 20,
  slowAfter: 60_000,
}

interface Setting {
  proxies: readonly { name: string; url: string }[]
  /** The proxies in the worker's configuration, if different. */
  known?: readonly { name: string; url: string }[]
  settings?: Partial<DeliverSettings>
  onDelivered?: () => Promise<void>
}

/** Opens purges with a worker that delivers them, on a clock that the test can advance. */
export async function delivering({
  proxies,
  known = proxies,
  settings: more = {},
  onDelivered = async () => {},
}: Setting) {
  let ahead = 0
  const now = () => Date.now() + ahead
  const { purging, records } = await openPurges({ proxies: proxies.map(({ name }) => name), now })
  const queue = openQueue(records, now)
  const purge = (...targets: Target[]) => purging.invalidate({ targets, soft: false, source: 'cli', actor: null })
  const handler = deliverHandler({
    db: records.db,
    now,
    random: () => 0.5,
    timing: realTiming,
    proxies: known,
    settings: { ...settings, ...more },
    onDelivered,
  })
  const start = () => {
    const stop = new AbortController()
    const consumed = consume({
      queue,
      kind: 'consumer',
      transports: ['async'],
      handlers: [handler],
      stop: stop.signal,
      timing: realTiming,
      random: () => 0.5,
      memory: () => 0,
      onEvent: () => {},
    })
    onTestFinished(async () => {
      stop.abort()
      await consumed
    })
  }
  const deliveries = (proxy: string) =>
    records.db.selectFrom('purge_deliveries').selectAll().where('proxy', '=', proxy).orderBy('purge_id').execute()
  const statuses = async (proxy: string) => [...new Set((await deliveries(proxy)).map(({ status }) => status))]
  return { records, queue, purge, start, deliveries, statuses, now, forward: (ms: number) => void (ahead += ms) }
}

export const tags = (...list: string[]): Target => ({ scope: 'tags', tags: list })

export const many = (count: number) => Array.from({ length: count }, (_, index) => `tag-${index}`)
