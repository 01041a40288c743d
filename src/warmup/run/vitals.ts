import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Vitals } from './live-recorder.ts'

/** Milliseconds without calls after which the delay is measured no longer: its timer takes half a percent of a core. */
const patience = 5_000

const none = { mean: 0, max: 0 }

/** Makes a reader of this process's memory use, and of its event loop delay since the previous call. */
export function processVitals(delay = monitorEventLoopDelay({ resolution: 10 })): Vitals {
  let last = none
  const end = setTimeout(() => delay.disable(), patience).unref()
  return () => {
    const { rss, heapUsed } = process.memoryUsage()
    end.refresh()
    // Enabled by the first call of a warmup, so that an idle process pays nothing for it.
    if (delay.enable()) last = none
    else if (delay.count > 0) last = { mean: toMilliseconds(delay.mean), max: toMilliseconds(delay.max) }
    delay.reset()
    return { memory: { rss, heapUsed }, eventLoopDelay: last }
  }
}

/** Converts nanoseconds to milliseconds, without the ten milliseconds of the monitor's own timer. */
function toMilliseconds(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / 1e5 - 100) / 10)
}
