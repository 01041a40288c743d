import { expect, it, onTestFinished, vi } from 'vitest'
import { answered, newFeed, pauseAfter, staleFor, unanswered } from '../../src/tui/feed.ts'
import { Poller } from '../../src/tui/poller.ts'
import { staleness } from '../../src/tui/stale.ts'
import { toSource } from '../../src/tui/source.ts'
import { FakeSource } from './fake-source.ts'
import { until } from '../helpers/until.ts'

/** Waits until another poller has asked that many times, which takes as long as the tested one would need. */
async function another(times: number): Promise<void> {
  const source = new FakeSource({ 'cache.stats': 1 })
  const poller = new Poller({ source, now: () => 0, random: () => 0.5, onChange: () => {} })
  poller.want({ cache: { operation: 'cache.stats', input: {}, every: 5 } })
  await until(() => expect(source.count('cache.stats')).toBeGreaterThan(times))
  poller.stop()
}

it('a feed without news for three seconds is stale, and says why', () => {
  const feed = answered(newFeed(0), 'value', 1000)
  expect(staleFor(feed, 3999)).toBe(null)
  expect(staleFor(feed, 4000)).toBe(3000)
  expect(staleness(unanswered(feed, 'the daemon does not answer'), 6000)).toBe('STALE 5 s: the daemon does not answer')
  expect(staleness(newFeed(0), 4000)).toBe('STALE 4 s: no response yet')
})

it('a source that does not answer is asked less and less often, and as before when it does', () => {
  let feed = newFeed(0)
  const pauses = Array.from({ length: 8 }, () => pauseAfter((feed = unanswered(feed, 'no')), 250, 0.5))
  expect(pauses).toEqual([500, 1000, 2000, 4000, 5000, 5000, 5000, 5000])
  expect(pauseAfter(answered(feed, 1, 0), 250, 0.5)).toBe(250)
})

it('the poller goes on after failures, keeps the last value, and stops', async () => {
  let broken = false
  const source = new FakeSource({ 'cache.stats': () => (broken ? new Error('gone') : 42) })
  const poller = new Poller({ source, now: () => 0, random: () => 0.5, onChange: () => {} })
  poller.want({ cache: { operation: 'cache.stats', input: {}, every: 5 } })
  await until(() => expect(poller.feeds['cache']).toMatchObject({ value: 42, error: null }))
  broken = true
  await until(() => expect(poller.feeds['cache']).toMatchObject({ value: 42, error: 'gone' }))
  broken = false
  await until(() => expect(poller.feeds['cache']).toMatchObject({ value: 42, error: null, failures: 0 }))
  poller.stop()
  const asked = source.count('cache.stats')
  await another(10)
  expect(source.count('cache.stats')).toBe(asked)
})

it('a slow answer is waited for, never asked for twice', async () => {
  let release = () => {}
  const source = new FakeSource({ 'cache.stats': () => new Promise((resolve) => (release = () => resolve(1))) })
  const poller = new Poller({ source, now: () => 0, random: () => 0.5, onChange: () => {} })
  poller.want({ cache: { operation: 'cache.stats', input: {}, every: 1 } })
  poller.want({ cache: { operation: 'cache.stats', input: {}, every: 1 } })
  poller.hurry()
  await another(5)
  expect(source.count('cache.stats')).toBe(1)
  release()
  await until(() => expect(source.count('cache.stats')).toBe(2))
  poller.stop()
})

it('a source that never answers is asked again after ten seconds', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const source = new FakeSource({
    'cache.stats': () => (source.count('cache.stats') === 1 ? new Promise(() => {}) : 7),
  })
  const poller = new Poller({ source, now: () => 0, random: () => 0.5, onChange: () => {} })
  poller.want({ cache: { operation: 'cache.stats', input: {}, every: 250 } })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(poller.feeds['cache']).toMatchObject({ value: null, error: 'no response within 10 s' })
  await vi.advanceTimersByTimeAsync(500)
  expect(poller.feeds['cache']).toMatchObject({ value: 7, error: null })
  poller.stop()
})

it('a source finds operations by their names', async () => {
  const source = toSource('here', [], { perform: () => Promise.reject(new Error('not called')) })
  await expect(source.perform('warmup.pause', {})).rejects.toThrow('Unknown operation warmup.pause.')
})
