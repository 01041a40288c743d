import type { MetricValues } from '../http/api/metrics.ts'

type Sample = MetricValues[number]['values'][number] & { metricName?: string }

/**
 * The latest metrics of each process of a daemon. The counts of a process remain in the sums after it has ended: Prometheus would take a
 * falling counter for a restart and count everything again.
 */
export class GatheredMetrics<Process> {
  readonly #latest = new Map<Process, MetricValues>()
  /** Sums of the processes that have ended. */
  #ended: MetricValues = []

  /** Stores the metrics of a process. */
  note(process: Process, values: MetricValues): void {
    this.#latest.set(process, values)
  }

  /** Keeps the counts of a process that has ended and drops its gauges. Counts since its last report are lost. */
  end(process: Process): void {
    this.#ended = addCounts(this.#ended, this.#latest.get(process) ?? [])
    this.#latest.delete(process)
  }

  /** The metrics to sum up. */
  all(): MetricValues[] {
    return [...this.#latest.values(), this.#ended]
  }
}

/** Adds the counters and histograms of a process; leaves out all other metrics. */
function addCounts(counted: MetricValues, values: MetricValues): MetricValues {
  const sums = new Map(counted.map((metric) => [metric.name, metric]))
  for (const metric of values.filter(isCount)) {
    const before = sums.get(metric.name)?.values ?? []
    sums.set(metric.name, { ...metric, values: addSamples(before, metric.values) })
  }
  return [...sums.values()]
}

function isCount({ type, aggregator }: MetricValues[number]): boolean {
  return aggregator === 'sum' && ['counter', 'histogram'].includes(String(type))
}

function addSamples(before: readonly Sample[], samples: readonly Sample[]): Sample[] {
  const sums = new Map(before.map((sample) => [keyOf(sample), sample]))
  for (const sample of samples) {
    const key = keyOf(sample)
    sums.set(key, { ...sample, value: (sums.get(key)?.value ?? 0) + sample.value })
  }
  return [...sums.values()]
}

function keyOf({ metricName, labels }: Sample): string {
  return JSON.stringify([metricName, Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1))])
}
