import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { App } from '../../../src/app.ts'
import { openMetrics } from '../../../src/http/api/metrics.ts'
import { Traffic } from '../../../src/traffic/traffic.ts'
import { createStageCounts } from '../../../src/stages/counts.ts'
import { tempDir } from '../../helpers/temp-dir.ts'
import { openShop, type Shop } from './shop.ts'
import { until } from '../../helpers/until.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop({
    config: { reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: 'http://127.0.0.1:1' }] },
  })
})
afterAll(() => shop.close())

/** The samples by name and labels, as Prometheus would read them. */
async function scrape(): Promise<Map<string, number>> {
  const { status, headers, body } = await shop.ask('/metrics')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const lines = String(body)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), Number(line.slice(at + 1))]
    }),
  )
}

it('counts requests by result, type and channel, and their durations by result', async () => {
  await shop.ask('/counted')
  for (let count = 0; count < 3; count++) await shop.ask('/counted')
  await shop.ask('/checkout/cart')
  await shop.ask('/healthz')
  const samples = await scrape()
  const channel = '00000000-0000-7000-8000-000000000001'
  expect(samples.get(`pagecache_requests_total{result="miss",type="cms",channel="${channel}"}`)).toBe(1)
  expect(samples.get(`pagecache_requests_total{result="hit",type="cms",channel="${channel}"}`)).toBe(3)
  expect(samples.get(`pagecache_requests_total{result="pass",type="other",channel="${channel}"}`)).toBe(1)
  // Before the first hit of a type there is a series to rise from.
  expect(samples.get('pagecache_requests_total{result="hit"}')).toBe(0)
  expect(samples.get('pagecache_requests_total{result="own"}')).toBeGreaterThan(0)
  expect(samples.get('pagecache_responses_total{status="200"}')).toBeGreaterThan(5)
  const name = 'pagecache_request_duration_seconds'
  expect(samples.get(`${name}_count{result="hit"}`)).toBe(3)
  expect(samples.get(`${name}_bucket{result="hit",le="+Inf"}`)).toBe(3)
  const buckets = [...samples]
    .filter(([key]) => key.startsWith(`${name}_bucket{result="miss"`))
    .map(([, count]) => count)
  expect(buckets.toSorted((a, b) => a - b)).toEqual(buckets)
  expect(samples.get(`${name}_sum{result="miss"}`)).toBeGreaterThan(0)
})

it('exports the store, the queue, the purge backlog and the warmups', async () => {
  expect((await shop.daemon.run('purge:url', `${shop.daemon.url}/counted`)).code).toBe(0)
  // The reverse proxy does not answer, so that the purge of it waits.
  await until(async () => (await scrape()).get('pagecache_purge_backlog{proxy="varnish-1",state="pending"}') === 1)
  const samples = await scrape()
  expect(samples.get('pagecache_purges_total')).toBeGreaterThan(0)
  expect(samples.get('pagecache_pages{type="cms"}')).toBeGreaterThanOrEqual(0)
  expect(samples.get('pagecache_pages_removed_bytes')).toBeGreaterThanOrEqual(0)
  expect(samples.get('pagecache_store_readable')).toBe(1)
  expect([...samples.keys()]).toEqual(
    expect.arrayContaining([
      'pagecache_queue_messages{transport="async",state="waiting"}',
      'pagecache_queue_oldest_seconds{transport="async"}',
      'pagecache_queue_workers',
      'pagecache_warmup_urls_remaining',
      'pagecache_warmup_urls_per_second',
      'pagecache_memory_bytes',
      'pagecache_stage_events_total',
      'pagecache_stage_events_refused_total{reason="rate_address"}',
      'process_resident_memory_bytes',
    ]),
  )
})

it('omits metrics of unreadable records and exports the others', async () => {
  const projectDir = await tempDir()
  await mkdir(join(projectDir, 'var/data/prod'), { recursive: true })
  await writeFile(join(projectDir, 'var/data/prod/records.sqlite'), 'not a database')
  const foreign = await openShop({ projectDir })
  onTestFinished(() => foreign.close())
  const { status, body } = await foreign.ask('/metrics')
  expect(status).toBe(200)
  // On what is missing there is an alert (PagecacheRecordsUnreadable).
  expect(String(body)).not.toMatch(/^pagecache_(?:queue_workers|purge_backlog|purges_total)\b/m)
  expect(String(body)).toMatch(/^pagecache_store_readable 1$/m)
  expect(String(body)).toMatch(/^pagecache_requests_total\{result="hit"\} 0$/m)
})

it('keeps its counts across a reload', async () => {
  const storeThatCounted = (damaged: number) => ({ damaged: () => damaged, unstored: () => 2 * damaged })
  let pages = storeThatCounted(3)
  const { values } = await openMetrics({
    app: () => ({ pages: () => Promise.resolve(pages) }) as unknown as App,
    traffic: new Traffic(),
    stages: createStageCounts(),
    memory: () => ({ bytes: 0, pages: 0 }),
  })
  const told = async (metric: string) => (await values()).find(({ name }) => name === metric)!.values[0]!.value
  expect(await told('pagecache_bodies_damaged_total')).toBe(3)
  pages = storeThatCounted(0)
  expect(await told('pagecache_bodies_damaged_total')).toBe(3)
  pages = storeThatCounted(1)
  expect(await told('pagecache_bodies_damaged_total')).toBe(4)
  expect(await told('pagecache_store_failures_total')).toBe(8)
})

it('requires a token from other machines', async () => {
  for (const name of ['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'Via']) {
    const { status, headers } = await shop.ask('/metrics', { headers: { [name]: '192.0.2.1' } })
    expect(status, name).toBe(401)
    expect(headers.get('www-authenticate')).toBe('Bearer')
  }
  const { stdout } = await shop.daemon.run('client:create', 'prometheus', '--scope', 'read', '--json')
  const { clientId, clientSecret } = JSON.parse(stdout) as { clientId: string; clientSecret: string }
  const token = await shop.ask('/api/oauth/token', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
  })
  const { access_token: bearer } = JSON.parse(String(token.body)) as { access_token: string }
  expect(
    (await shop.ask('/metrics', { headers: { 'X-Forwarded-For': '192.0.2.1', Authorization: `Bearer ${bearer}` } }))
      .status,
  ).toBe(200)
  expect(
    (await shop.ask('/metrics', { headers: { 'X-Forwarded-For': '192.0.2.1', Authorization: 'Bearer wrong' } })).status,
  ).toBe(401)
})
