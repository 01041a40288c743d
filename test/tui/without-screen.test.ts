import { describe, expect, it } from 'vitest'
import { isDueLine, monitorSummary, readAll, readLast, type SystemState } from '../../src/tui/monitor-summary.ts'
import type { Feeds } from '../../src/tui/poller.ts'
import { warmupSummary } from '../../src/tui/summary.ts'
import { watchLines } from '../../src/tui/watch-lines.ts'
import { system } from './fake-system.ts'
import { FakeSource, watched } from './fake-source.ts'

describe('without a screen', () => {
  it('the system is one sentence a part', async () => {
    const state = await readAll(new FakeSource(system()))
    expect(monitorSummary(state).join('; ')).toContain('queue: 412 waiting, 5 in progress, 2 failed, 2 workers')
    expect(monitorSummary({})).toEqual([])
  })

  it('the summary shows the values at exit, or the last known ones if the daemon does not answer', async () => {
    const old: Feeds = {
      queue: {
        value: { ...(system()['messenger.stats'] as object), failed: 9 },
        at: 0,
        error: null,
        failures: 0,
        since: 0,
      },
    }
    expect((await readLast(new FakeSource(system()), old, 60_000)).queue).toMatchObject({ failed: 2 })
    expect(await readLast(new FakeSource({}), old, 60_000)).toMatchObject({ queue: { failed: 9 } })
    expect(
      await readLast(new FakeSource({ ...system(), 'cache.stats': () => new Promise(() => {}) }), old, 1),
    ).toMatchObject({ queue: { failed: 9 } })
  })

  it('a line is due first, each ten seconds, each five percent, and when a warmup ends', () => {
    const state = (percentage: number, status: 'running' | 'completed' = 'running') =>
      ({ warmup: watched(0, { status, progress: { percentage } }) }) as SystemState
    const printed = { state: state(12), at: 1000 }
    expect(isDueLine(null, state(0), 0)).toBe(true)
    expect(isDueLine(printed, state(14.9), 2000)).toBe(false)
    expect(isDueLine(printed, state(15), 2000)).toBe(true)
    expect(isDueLine(printed, state(12), 11_000)).toBe(true)
    expect(isDueLine(printed, state(12, 'completed'), 2000)).toBe(true)
  })

  it('a run is watched to its end, over failures of the source', async () => {
    let asked = 0
    const source = new FakeSource({
      'warmup.watch': () => {
        asked++
        if (asked === 3) return new Error('the daemon does not answer')
        return watched(asked * 100, { status: asked > 4 ? 'completed' : 'running' })
      },
    })
    const updates: number[] = []
    const told: string[] = []
    const last = await watchLines({
      source,
      id: null,
      signal: new AbortController().signal,
      update: ({ done }) => updates.push(done),
      tell: (message) => told.push(message),
    })
    expect(last.progress?.status).toBe('completed')
    expect(updates.at(-1)).toBe(39_000)
    expect(updates).toEqual(updates.toSorted((left, right) => left - right))
    expect(told).toEqual(['No response, retrying: the daemon does not answer'])
  })

  it('what cannot be watched from the beginning is an error', async () => {
    const source = new FakeSource({ 'warmup.watch': new Error('no') })
    await expect(
      watchLines({ source, id: null, signal: new AbortController().signal, update: () => {}, tell: () => {} }),
    ).rejects.toThrow('no')
  })

  it('an interruption ends the watching, not the run', async () => {
    const abort = new AbortController()
    const source = new FakeSource({ 'warmup.watch': () => watched(100) })
    const last = await watchLines({
      source,
      id: null,
      signal: abort.signal,
      update: () => abort.abort(),
      tell: () => {},
    })
    expect(last.progress?.status).toBe('running')
  })
})

it('what remains of a warmup says how it stands and what to do', () => {
  expect(warmupSummary(watched(700)).join('\n')).toMatchInlineSnapshot(`
    "Warmup 0190c0de-1111-7000-8000-00000000012f: running, 45.50 %, 54,600 of 120,000 pages in 11 min 40 s
      52,371 fetched, 2,184 already fresh, 45 failed; 76.2 pages/s on average
      not cached: set-cookie 31, 404 12, private 8, 503 7, timeout 5, too-large 1
      failed URLs: pagecache warmup:failures 0190c0de-1111-7000-8000-00000000012f
      it continues; watch it with: pagecache warmup:watch 0190c0de-1111-7000-8000-00000000012f"
  `)
  expect(warmupSummary({ success: true, progress: null, live: null } as never)).toEqual([
    'No warmup yet. Start one: pagecache warmup:start',
  ])
})
