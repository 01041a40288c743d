import { expect, it } from 'vitest'
import { GatheredMetrics } from '../../src/daemon/gathered-metrics.ts'
import { openMetrics, type MetricValues } from '../../src/http/api/metrics.ts'
import { Traffic } from '../../src/traffic/traffic.ts'
import type { App } from '../../src/app.ts'
import { createStageCounts } from '../../src/stages/counts.ts'

/** The metrics of a process with this number of hits and ten bytes of bodies in memory. */
async function processWith(hits: number): Promise<MetricValues> {
  const traffic = new Traffic()
  for (let count = 0; count < hits; count += 1) traffic.count('hit', 200, 2)
  const metrics = await openMetrics({
    app: () => ({}) as App,
    traffic,
    stages: createStageCounts(),
    memory: () => ({ bytes: 10, pages: 1 }),
  })
  // Serialised like a message from another process.
  return JSON.parse(JSON.stringify(await metrics.values())) as MetricValues
}

async function read(gathered: GatheredMetrics<string>): Promise<(sample: string) => number | undefined> {
  const { toText } = await openMetrics({
    app: () => ({}) as App,
    traffic: new Traffic(),
    stages: createStageCounts(),
    memory: () => ({ bytes: 0, pages: 0 }),
  })
  const { text } = await toText(gathered.all())
  return (sample) =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`${sample} `))
      .map((line) => Number(line.slice(sample.length + 1)))[0]
}

const hits = 'pagecache_requests_total{result="hit"}'

it('keeps the counts of ended processes and drops their gauges', async () => {
  const gathered = new GatheredMetrics<string>()
  gathered.note('a', await processWith(3))
  gathered.note('b', await processWith(5))
  expect((await read(gathered))(hits)).toBe(8)
  gathered.end('a')
  const without = await read(gathered)
  expect(without(hits)).toBe(8)
  expect(without('pagecache_request_duration_seconds_count{result="hit"}')).toBe(8)
  expect(without('pagecache_request_duration_seconds_bucket{result="hit",le="+Inf"}')).toBe(8)
  expect(without('pagecache_request_duration_seconds_bucket{result="hit",le="0.001"}')).toBe(0)
  expect(without('pagecache_request_duration_seconds_sum{result="hit"}')).toBeCloseTo(0.016)
  expect(without('pagecache_responses_total{status="200"}')).toBe(8)
  expect(without('pagecache_memory_bytes')).toBe(10)
  gathered.note('c', await processWith(2))
  gathered.note('c', await processWith(4))
  expect((await read(gathered))(hits)).toBe(12)
  gathered.end('c')
  gathered.end('b')
  expect((await read(gathered))(hits)).toBe(12)
})

it('a process that ended before its first report adds nothing', async () => {
  const gathered = new GatheredMetrics<string>()
  gathered.note('a', await processWith(3))
  gathered.end('never reported')
  expect((await read(gathered))(hits)).toBe(3)
})
