import { getEventListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { TimeLimit } from '../../src/lib/time-limit.ts'

it('aborts after its time', async () => {
  const limit = new TimeLimit(5, new AbortController().signal)
  expect([limit.signal.aborted, limit.isLate]).toEqual([false, false])
  await new Promise((resolve) => limit.signal.addEventListener('abort', resolve))
  expect([limit.signal.aborted, limit.isLate]).toEqual([true, true])
  expect(limit.signal.reason).toMatchObject({ name: 'TimeoutError' })
})

it.each([true, false])('aborts with the outer signal, for its reason (aborted before: %s)', (before) => {
  const outer = new AbortController()
  if (before) outer.abort('over')
  const limit = new TimeLimit(60_000, outer.signal)
  if (!before) outer.abort('over')
  expect([limit.signal.aborted, limit.signal.reason, limit.isLate]).toEqual([true, 'over', false])
  limit.end()
})

it('does nothing once it has ended, and leaves no listener', async () => {
  const outer = new AbortController()
  const limit = new TimeLimit(5, outer.signal)
  limit.end()
  outer.abort()
  await pause(20)
  expect([limit.signal.aborted, limit.isLate]).toEqual([false, false])
  expect(getEventListeners(outer.signal, 'abort')).toEqual([])
})
