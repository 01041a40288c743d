import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { alertRules, promtool, startPrometheus, type Prometheus } from '../helpers/prometheus.ts'
import { startRelay, type Relay } from '../helpers/relay.ts'
import { installed } from '../helpers/rivals.ts'
import { page } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'

const hasPrometheus = installed('prometheus') && installed('promtool')
if (!hasPrometheus)
  console.warn(
    'The tests with a real Prometheus are left out: prometheus and promtool are not installed (Debian: prometheus).',
  )

const id = '0190c0de-0000-7000-8000-000000000001'

describe.skipIf(!hasPrometheus)('promtool', () => {
  it('accepts docs/alerts.yaml, whose alerts fire exactly when they should', () => {
    expect(promtool(['check', 'rules', '--lint-fatal', alertRules])).toMatchObject({ code: 0 })
    const tests = ['alerts.test.yaml', 'alerts-day.test.yaml'].map((file) =>
      fileURLToPath(new URL(`../contract/${file}`, import.meta.url)),
    )
    expect(promtool(['test', 'rules', ...tests])).toMatchObject({ code: 0 })
  })
})

describe.skipIf(!hasPrometheus)('a Prometheus that scrapes a daemon', () => {
  let origin: Origin
  let varnish: Origin
  let relay: Relay
  let daemon: Daemon
  let prometheus: Prometheus
  /** Number of warmup pages that the shop may answer. */
  let released = 0
  const waiting: (() => void)[] = []
  const release = (count: number) => {
    released += count
    for (const go of waiting.splice(0, count)) go()
  }

  beforeAll(async () => {
    origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path}`) })
    const paths = Array.from({ length: 12 }, (_, number) => `/warm/${number}`)
    for (const path of paths) {
      origin.on(path, async () => {
        if (released > 0) released -= 1
        else
          await new Promise<void>((resolve) =>
            waiting.push(() => {
              released -= 1
              resolve()
            }),
          )
        return page(path)
      })
    }
    varnish = await startOrigin({ otherwise: { body: 'Invalidated 1 objects' } })
    relay = await startRelay(varnish.port)
    daemon = await startDaemon({
      config: (url) => ({
        salesChannels: [{ id, url, origin: origin.url, sitemaps: ['/sitemap.xml'] }],
        reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: relay.url }],
        purge: { timeout: '500ms', settleTime: '100ms' },
        warmup: { concurrency: 2 },
      }),
    })
    origin.on('/sitemap.xml', {
      body: `<urlset>${paths.map((path) => `<url><loc>${daemon.url}${path}</loc></url>`).join('')}</urlset>`,
    })
    prometheus = await startPrometheus(daemon.host)
  })
  afterAll(async () => {
    release(1000)
    await prometheus?.stop()
    await daemon?.stop()
    await relay?.stop()
    await varnish?.stop()
    await origin?.stop()
  })

  const ask = async (path: string, headers: Record<string, string> = {}) =>
    (await exchange(daemon.url + path, { headers })).status
  const becomes = (expression: string, value: number) =>
    until(async () => expect(await prometheus.sum(expression), expression).toBe(value))
  const json = async (...command: string[]) =>
    JSON.parse((await daemon.run(...command, '--json')).stdout) as Record<string, unknown>

  it('sees hits, misses, the hit ratio and how long answers took', async () => {
    // Counters must start at 0: otherwise the first counts would not be an increase.
    await becomes('pagecache_requests_total{result="miss"}', 0)
    origin.on('/slow', async () => {
      await new Promise((resolve) => setTimeout(resolve, 300))
      return page('slow')
    })
    origin.on('/broken', (_, response) => void response.destroy())
    for (const path of ['/slow', '/a', '/b']) expect(await ask(path)).toBe(200)
    for (let count = 0; count < 6; count += 1) expect(await ask('/a')).toBe(200)
    expect(await ask('/broken')).toBe(502)
    await becomes('pagecache_requests_total{result="hit"}', 6)
    await becomes('pagecache_requests_total{result="miss"}', 3)
    await becomes('pagecache_requests_total{result="error"}', 1)
    await becomes('pagecache_responses_total{status="502"}', 1)
    await becomes('pagecache_request_duration_seconds_count{result="miss"}', 3)
    const [ratio] = await prometheus.query(
      'sum(rate(pagecache_requests_total{result=~"hit|stale"}[5m])) / sum(rate(pagecache_requests_total{result=~"hit|stale|miss"}[5m]))',
    )
    expect(ratio!.value).toBeCloseTo(6 / 9)
    expect(
      await prometheus.sum(
        'histogram_quantile(0.99, sum by (le) (rate(pagecache_request_duration_seconds_bucket{result="miss"}[5m])))',
      ),
    ).toBeGreaterThan(0.25)
    expect(
      await prometheus.sum(
        'histogram_quantile(0.99, sum by (le) (rate(pagecache_request_duration_seconds_bucket{result="hit"}[5m])))',
      ),
    ).toBeLessThan(0.25)
  })

  it('sees the store as the commands do', async () => {
    // A page is stored a moment after its answer, and smaller later.
    for (const [expression, name] of [
      ['sum(pagecache_pages)', 'totalFiles'],
      ['sum(pagecache_pages_bytes)', 'totalSize'],
    ] as const)
      await until(async () => expect(await prometheus.sum(expression)).toBe((await json('cache:stats'))[name]))
    await until(async () => expect(await prometheus.sum('sum(pagecache_pages_original_bytes)')).toBeGreaterThan(0))
    await becomes('pagecache_memory_pages', 3)
  })

  it('sees the purges pile up that a dead proxy does not take, and go when it is back', async () => {
    await relay.set('refusing')
    for (const path of ['/a', '/b', '/c']) expect((await daemon.run('purge:url', daemon.url + path)).code).toBe(0)
    await becomes('pagecache_purge_backlog{proxy="varnish-1",state="pending"}', 3)
    await becomes('pagecache_reverse_proxy_up{proxy="varnish-1"}', 0)
    await until(async () => expect(await prometheus.sum('pagecache_purge_backlog_oldest_seconds')).toBeGreaterThan(1))
    await becomes('sum(pagecache_queue_messages{transport="async"})', 1)
    await becomes('pagecache_purges_total', 3)
    await until(async () =>
      expect(
        ((await prometheus.ask('/api/v1/alerts')) as { alerts: { labels: object; state: string }[] }).alerts,
      ).toContainEqual(
        expect.objectContaining({
          labels: { alertname: 'PagecacheProxyDown', severity: 'critical', job: 'pagecache', proxy: 'varnish-1' },
          state: 'pending',
        }),
      ),
    )
    await relay.set('open')
    await becomes('pagecache_purge_backlog{proxy="varnish-1",state="pending"}', 0)
    await becomes('pagecache_reverse_proxy_up{proxy="varnish-1"}', 1)
    await becomes('pagecache_purge_backlog_oldest_seconds', 0)
    expect((await daemon.run('reverse-proxy:clear', '--yes')).code).toBe(0)
    expect((await daemon.run('purge:url', `${daemon.url}/d`)).code).toBe(0)
    // Clearing the log must not lower a counter: Prometheus would count everything again.
    await becomes('pagecache_purges_total', 4)
    expect(await prometheus.sum('resets(pagecache_purges_total[5m])')).toBe(0)
  })

  it('sees a warmup run, stand, and end', async () => {
    await json('warmup:start')
    await becomes('pagecache_warmup_runs{status="running"}', 1)
    await becomes('pagecache_warmup_urls_remaining', 12)
    release(6)
    await becomes('pagecache_warmup_urls_remaining', 6)
    await until(async () =>
      expect(await prometheus.sum('max_over_time(pagecache_warmup_urls_per_second[5m])')).toBeGreaterThan(0),
    )
    release(6)
    await becomes('pagecache_warmup_runs{status="completed"}', 1)
    await becomes('pagecache_warmup_urls_remaining', 0)
    await becomes('pagecache_warmup_urls_per_second', 0)
  })

  it('sees popup events, and why others were not counted', async () => {
    const { stage } = (await json('stage:create', 'Sale')) as { stage: { id: string } }
    const track = async (
      popupId: string,
      agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    ) =>
      exchange(`${daemon.url}/vendor-stage/track`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': agent },
        body: JSON.stringify({ popupId, eventType: 'impression' }),
      })
    await track(stage.id)
    await track(stage.id)
    await track(stage.id, 'Googlebot/2.1 (+http://www.google.com/bot.html)')
    await track('0190c0de-0000-7000-8000-00000000ffff')
    await becomes('pagecache_stage_events_total', 2)
    await becomes('pagecache_stage_events_ignored_total{reason="bot"}', 1)
    await becomes('pagecache_stage_events_refused_total{reason="unknown_stage"}', 1)
  })

  it('answers every expression of docs/grafana.json, each with a number', async () => {
    const { panels } = JSON.parse(readFileSync(new URL('../../docs/grafana.json', import.meta.url), 'utf8')) as {
      panels: { title: string; targets?: { expr: string }[] }[]
    }
    const expressions = panels.flatMap(({ title, targets = [] }) =>
      targets.map(
        ({ expr }) => [title, expr.replaceAll('$job', 'pagecache').replaceAll('$__rate_interval', '5m')] as const,
      ),
    )
    expect(expressions.length).toBeGreaterThan(20)
    for (const [title, expression] of expressions) {
      // Retried: after a missed scrape on a busy machine there is no value for a moment.
      await until(async () =>
        expect(
          (await prometheus.query(expression)).some(({ value }) => Number.isFinite(value)),
          `${title}: ${expression}`,
        ).toBe(true),
      )
    }
  })

  it('evaluates every rule of docs/alerts.yaml, and none fires', async () => {
    const { groups } = (await prometheus.ask('/api/v1/rules')) as {
      groups: { rules: { name: string; query: string; health: string; lastError?: string; state?: string }[] }[]
    }
    const rules = groups.flatMap((group) => group.rules)
    expect(rules.length).toBeGreaterThan(20)
    for (const { name, query, health, lastError, state } of rules) {
      expect([health, lastError ?? ''], name).toEqual(['ok', ''])
      expect(state, name).not.toBe('firing')
      await prometheus.query(query)
    }
  })

  it('gets metrics that promtool accepts, for every client and format', async () => {
    origin.on('/teapot', { status: 418 })
    origin.on('/odd', { status: 799 })
    await Promise.all(['/teapot', '/odd', '/%00', '/"\\n{x="y"}'].map((path) => ask(path)))
    for (const host of ['evil.example', 'a"b{c}', 'x'.repeat(200)]) await ask('/', { host }).catch(() => undefined)
    for (const method of ['PROPFIND', 'DELETE', 'PURGE', 'M-SEARCH']) await exchange(`${daemon.url}/a`, { method })
    const text = String((await exchange(`${daemon.url}/metrics`)).body)
    expect(promtool(['check', 'metrics'], text)).toEqual({ code: 0, output: '' })
    const labels = new Set(
      [...text.matchAll(/^pagecache_\w+\{(.*)\} /gm)]
        .flatMap(([, each]) =>
          [...each!.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => `${name}=${value}`),
        )
        .filter((label) => !label.startsWith('le=')),
    )
    const unknown = [...labels].filter(
      (label) =>
        !/^(?:result|type|transport|state|reason|use)=[a-z_]+$|^status=(?:[1-5]\d\d|running|paused|completed|cancelled|failed)$|^proxy=varnish-1$|^channel=[0-9a-f-]{36}$/.test(
          label,
        ),
    )
    expect(unknown).toEqual([])
    expect([...labels]).toEqual(expect.arrayContaining(['status=418', 'status=421', 'status=400']))
  })
})
