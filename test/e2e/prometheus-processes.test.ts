import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPrometheus, type Prometheus } from '../helpers/prometheus.ts'
import { childrenOf } from '../helpers/processes.ts'
import { installed } from '../helpers/rivals.ts'
import { openShop, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'

const hasPrometheus = installed('prometheus')
if (!hasPrometheus)
  console.warn(
    'The test of several processes with a real Prometheus is left out: prometheus is not installed (Debian: prometheus).',
  )

/** Counters that must never fall while the daemon runs. */
const counters = [
  'pagecache_requests_total',
  'pagecache_responses_total',
  'pagecache_request_duration_seconds_bucket',
  'pagecache_request_duration_seconds_sum',
  'pagecache_purges_total',
  'process_cpu_seconds_total',
]

describe.skipIf(!hasPrometheus)('a daemon of two processes, as Prometheus sees it', () => {
  let shop: Shop
  let prometheus: Prometheus
  beforeAll(async () => {
    shop = await openShop({
      config: {
        server: { processes: 2 },
        reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: 'http://127.0.0.1:1' }],
      },
    })
    prometheus = await startPrometheus(shop.daemon.host)
  })
  afterAll(async () => {
    await prometheus?.stop()
    await shop?.close()
  })

  const becomes = (expression: string, value: number) =>
    until(async () => expect(await prometheus.sum(expression), expression).toBe(value))
  const asked = 'sum(pagecache_requests_total{result=~"hit|miss"})'
  /** Connections go to the processes in turns. */
  const ask = async (times: number) => {
    for (let count = 0; count < times; count += 1) expect((await shop.ask(`/page-${count % 5}`)).status).toBe(200)
  }

  it('sums the counters of each process and reports shared values once', async () => {
    await becomes(asked, 0)
    await ask(20)
    await becomes(asked, 20)
    await becomes('sum(pagecache_request_duration_seconds_bucket{result=~"hit|miss",le="+Inf"})', 20)
    await becomes('sum(pagecache_pages)', 5)
    expect(await shop.pages()).toBe(5)
    expect((await shop.daemon.run('purge:url', `${shop.daemon.url}/page-1`)).code).toBe(0)
    await becomes('sum(pagecache_purge_backlog)', 1)
    await becomes('pagecache_purges_total', 1)
    await becomes('pagecache_queue_workers', 1)
    await becomes('count(up)', 1)
  })

  it('keeps the counts of a process that dies, so that no rate jumps', async () => {
    const before = await childrenOf(shop.daemon.pid)
    let counted = 20
    // Two processes answer requests, the third processes the queue.
    for (const victim of before) {
      process.kill(victim, 'SIGKILL')
      await until(async () => {
        const now = await childrenOf(shop.daemon.pid)
        return now.length === 3 && !now.includes(victim)
      })
      await until(
        async () =>
          (await shop.ask('/readyz').then(
            ({ status }) => status,
            () => 0,
          )) === 200,
      )
      await ask(10)
      counted += 10
      await becomes(asked, counted)
    }
    for (const name of counters) expect(await prometheus.sum(`sum(resets(${name}[5m]))`), name).toBe(0)
    await until(async () => expect(await prometheus.sum('changes(process_start_time_seconds[5m])')).toBeGreaterThan(0))
  })
})
