import { expect, it } from 'vitest'
import { Lease } from '../../src/cluster/lease.ts'

it('ends with either clock', () => {
  const lease = new Lease()
  lease.grant({ mono: 0, wall: 5000 }, 1000, 2000)
  expect(lease.standing({ mono: 999, wall: 5999 })).toBe('confirmed')
  expect(lease.standing({ mono: 1000, wall: 5500 })).toBe('unconfirmed')
  expect(lease.standing({ mono: 3000, wall: 5500 })).toBe('none')
})

it('stays ended after a sleep, when the wall clock is set back afterwards', () => {
  const lease = new Lease()
  lease.grant({ mono: 0, wall: 5000 }, 1000, 2000)
  expect(lease.standing({ mono: 100, wall: 6500 })).toBe('unconfirmed')
  expect(lease.standing({ mono: 200, wall: 5200 })).toBe('unconfirmed')
  expect(lease.standing({ mono: 300, wall: 9000 })).toBe('none')
  expect(lease.standing({ mono: 400, wall: 5400 })).toBe('none')
  lease.grant({ mono: 400, wall: 5400 }, 1000, 2000)
  expect(lease.standing({ mono: 500, wall: 5500 })).toBe('confirmed')
})
