import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Vitals } from './live-recorder.ts'

/** What a process says of itself; the delay of the event loop is that since it was last asked. */
export function processVitals(): Vitals {
  let delay: ReturnType<typeof monitorEventLoopDelay> | null = null
  let last = { mean: 0, max: 0 }
  return () => {
    const { rss, heapUsed } = process.memoryUsage()
    if (delay === null) {
      // Started with the first work, so that an idle process pays nothing for it.
      delay = monitorEventLoopDelay({ resolution: 10 })
      delay.enable()
    } else if (delay.count > 0) {
      last = { mean: toMilliseconds(delay.mean), max: toMilliseconds(delay.max) }
      delay.reset()
    }
    return { memory: { rss, heapUsed }, eventLoopDelay: last }
  }
}

/** From nanoseconds, without the ten that the timer itself takes. */
function toMilliseconds(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / 1e5 - 100) / 10)
}
