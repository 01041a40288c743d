import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client'
import { Counts, durationBounds, results, type Result, type Traffic } from '../../traffic/traffic.ts'
import type { Aggregator, MetricsOptions, Reading } from './metric.ts'
import { readings } from './metric-readings.ts'

/** The metrics of one process. A daemon gathers those of all its processes (src/daemon/processes.ts). */
export type MetricValues = MetricObjectWithValues<MetricValue<string>>[]

export interface Metrics {
  /** The metrics of this process. */
  values(): Promise<MetricValues>
  /** The metrics of several processes as one text, in the exposition format of Prometheus. */
  toText(processes: readonly MetricValues[]): Promise<{ type: string; text: string }>
}

/** Gauges of prom-client whose names end like those of counters. Prometheus can sum up the metrics without that ending. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** Metrics that show the highest value of all processes: the slowest event loop, and the latest start. */
const maximal = [
  'nodejs_eventloop_lag_seconds',
  'nodejs_eventloop_lag_p50_seconds',
  'nodejs_eventloop_lag_p90_seconds',
  'nodejs_eventloop_lag_p99_seconds',
  'process_start_time_seconds',
]

/** Opens the metrics of this process. They are computed with each scrape only. */
export async function openMetrics(options: MetricsOptions): Promise<Metrics> {
  const { Registry, AggregatorRegistry, collectDefaultMetrics } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  for (const name of maximal) Object.assign(registry.getSingleMetric(name)!, { aggregator: 'max' satisfies Aggregator })
  for (const reading of readings(options)) register(registry, reading)
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
  // A metric that cannot be read now is missing from this scrape; the others are still exported.
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

/** Exports a histogram that `Traffic` counts: prom-client's own would cost too much per hit. */
function registerDurations(registry: Registry, traffic: Traffic): void {
  const name = 'pagecache_request_duration_seconds'
  const metric = {
    name,
    get: () => ({
      name,
      help: 'Seconds until the answer began, by result',
      type: 'histogram',
      aggregator: 'sum',
      values: [...sumByResult(traffic)].flatMap(([result, { requests, servedMs, buckets }]) => {
        let upTo = 0
        const cumulative = [...durationBounds, '+Inf'].map((le, bucket) => ({
          labels: { result, le: String(le) },
          value: (upTo += buckets[bucket]!),
          metricName: `${name}_bucket`,
        }))
        return [
          ...cumulative,
          { labels: { result }, value: servedMs / 1000, metricName: `${name}_sum` },
          { labels: { result }, value: requests, metricName: `${name}_count` },
        ]
      }),
    }),
  }
  registry.registerMetric(metric as never)
}

function sumByResult(traffic: Traffic): Map<Result, Counts> {
  const sums = new Map<Result, Counts>(results.map((result) => [result, new Counts()]))
  for (const { result, counts } of traffic.series()) sums.get(result)!.add(counts)
  return sums
}
