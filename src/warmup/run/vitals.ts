import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Vitals } from './live-recorder.ts'

/** Makes a reader of this process's memory use, and of its event loop delay since the previous call. */
export function processVitals(): Vitals {
  let delay: ReturnType<typeof monitorEventLoopDelay> | null = null
  let last = { mean: 0, max: 0 }
  return () => {
    const { rss, heapUsed } = process.memoryUsage()
    if (delay === null) {
      // Started on the first call, so that an idle process pays nothing for it.
      delay = monitorEventLoopDelay({ resolution: 10 })
      delay.enable()
    } else if (delay.count > 0) {
      last = { mean: toMilliseconds(delay.mean), max: toMilliseconds(delay.max) }
      delay.reset()
    }
    return { memory: { rss, heapUsed }, eventLoopDelay: last }
  }
}

/** Converts nanoseconds to milliseconds, without the ten milliseconds of the monitor's own timer. */
function toMilliseconds(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / 1e5 - 100) / 10)
}
