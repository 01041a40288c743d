import type { MetricValues } from '../http/api/metrics.ts'

type Sample = MetricValues[number]['values'][number] & { metricName?: string }

/**
 * What the processes of a daemon told last. A sum that fell because one of them ended, or was slow to answer, would be taken for a
 * restart of everything, and all that the others have counted for new: what a process counted stays when it has gone.
 */
export class GatheredMetrics<Process> {
  readonly #told = new Map<Process, MetricValues>()
  /** Of those that have gone. */
  #counted: MetricValues = []

  note(process: Process, values: MetricValues): void {
    this.#told.set(process, values)
  }

  /** The process has gone: its memory is free, its counts stay. What it counted since it told last is lost. */
  end(process: Process): void {
    this.#counted = addCounts(this.#counted, this.#told.get(process) ?? [])
    this.#told.delete(process)
  }

  /** For sums over all of them. */
  all(): MetricValues[] {
    return [...this.#told.values(), this.#counted]
  }
}

/** Counters and histograms with those of another process added; the metrics that are no counts are left out. */
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
