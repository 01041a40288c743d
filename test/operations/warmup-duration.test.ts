import { expect, it } from 'vitest'
import { durationOf } from '../../src/operations/warmup-duration.ts'

const at = (milliseconds: number) => new Date(milliseconds).toISOString()

it('lasts until the end, or until the last report of its worker', () => {
  expect(durationOf({ created_at: at(1_000), updated_at: at(3_500), finished_at: at(4_000) })).toBe(3)
  expect(durationOf({ created_at: at(1_000), updated_at: at(3_500), finished_at: null })).toBe(2.5)
})

it('is never negative, whatever the clocks of two processes say', () => {
  expect(durationOf({ created_at: at(1_000), updated_at: at(997), finished_at: at(997) })).toBe(0)
})
