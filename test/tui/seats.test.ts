import { expect, it } from 'vitest'
import { seat, Seating } from '../../src/tui/tabs/warmup/seats.ts'
import type { Live } from '../../src/tui/tabs/warmup/watched.ts'
import { watched } from './fake-source.ts'

const slot = (url: string) => ({ worker: 'w', url, since: 1, attempt: 1 })
const urls = (seats: ReturnType<typeof seat>) => seats.map((sitting) => sitting?.url ?? '-').join(' ')

it('a request keeps its seat while others come and go', () => {
  const first = seat([], [slot('a'), slot('b'), slot('c')], 4)
  expect(urls(first)).toBe('a b c -')
  const second = seat(first, [slot('b'), slot('c'), slot('d')], 4)
  expect(urls(second)).toBe('d b c -')
  expect(urls(seat(second, [slot('c')], 4))).toBe('- - c -')
})

it('there are as many seats as are needed, and no fewer than places', () => {
  const many = seat([], ['a', 'b', 'c', 'd'].map(slot), 2)
  expect(urls(many)).toBe('a b c d')
  expect(urls(seat(many, [slot('c')], 2))).toBe('- - c')
  expect(urls(seat(many, [], 2))).toBe('- -')
})

it('the same figures are seated in the same way, however often they are drawn', () => {
  const live = (...slots: string[]) => ({ ...watched(700).live!, slots: slots.map(slot), origins: [] }) as Live
  const seating = new Seating()
  const frozen = live('a', 'b')
  const later = live('b', 'c')
  expect([frozen, later, frozen, later].map((each) => urls(seating.of(each)))).toEqual(['a b', 'c b', 'a b', 'c b'])
})
