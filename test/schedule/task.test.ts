import { expect, it } from 'vitest'
import { nextNight } from '../../src/schedule/task.ts'

it.each([
  ['2026-11-21T00:00:00.000Z', '2026-11-21T02:00:00.000Z'],
  ['2026-11-21T01:59:59.999Z', '2026-11-21T02:00:00.000Z'],
  ['2026-11-21T02:00:00.000Z', '2026-11-22T02:00:00.000Z'],
  ['2026-12-31T23:00:00.000Z', '2027-01-01T02:00:00.000Z'],
])('the night after %s is %s', (now, next) => {
  expect(new Date(nextNight(Date.parse(now))).toISOString()).toBe(next)
})
