import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { processVitals } from '../../../src/warmup/run/vitals.ts'

it('measures the delay of the event loop between two calls, and stops when there are no more', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const monitor = monitorEventLoopDelay({ resolution: 10 })
    const [enable, disable] = [vi.spyOn(monitor, 'enable'), vi.spyOn(monitor, 'disable')]
    const vitals = processVitals(monitor)
    expect(enable).not.toHaveBeenCalled()
    vi.advanceTimersByTime(10_000)
    disable.mockClear()
    expect(vitals().eventLoopDelay).toEqual({ mean: 0, max: 0 })
    expect(enable).toHaveLastReturnedWith(true)
    await pause(50)
    for (const until = performance.now() + 200; performance.now() < until;);
    await pause(50)
    expect(vitals().eventLoopDelay.max).toBeGreaterThan(100)
    vi.advanceTimersByTime(4_000)
    expect(vitals().memory.rss).toBeGreaterThan(0)
    vi.advanceTimersByTime(4_000)
    expect(disable).not.toHaveBeenCalled()
    vi.advanceTimersByTime(2_000)
    expect(disable).toHaveBeenCalledOnce()
  } finally {
    vi.useRealTimers()
  }
})
