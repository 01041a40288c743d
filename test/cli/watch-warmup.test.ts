import { expect, it } from 'vitest'
import { leaveRunning } from '../../src/cli/watch-warmup.ts'
import { answered, newFeed } from '../../src/tui/feed.ts'
import { watched } from '../tui/fake-source.ts'

it.each([
  ['running', 'leave; the warmup continues'],
  ['paused', 'leave; the warmup stays paused'],
  ['completed', 'leave'],
] as const)('says what leaving means for a warmup that is %s', (status, text) => {
  expect(leaveRunning({ warmup: answered(newFeed(0), watched(700, { status }), 0) })).toBe(text)
  expect(leaveRunning({})).toBe('leave')
})

it('says what leaving means for a warmup without a worker', () => {
  const idle = watched(700, { live: { updatedAt: null, workers: [], slots: [] } })
  expect(leaveRunning({ warmup: answered(newFeed(0), idle, 0) })).toBe('leave; the warmup waits for a worker')
})
