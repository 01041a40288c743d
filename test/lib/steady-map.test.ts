import { expect, it } from 'vitest'
import { SteadyMap, SteadySet } from '../../src/lib/steady-map.ts'
import { random } from '../helpers/random.ts'

it.each([1, 2])('has the entries of a Map, in the same order (seed %i)', (seed) => {
  const next = random(seed)
  const [steady, plain] = [new SteadyMap<string, number>(), new Map<string, number>()]
  for (let step = 0; step < 5_000; step++) {
    const key = `k${Math.floor(next() * 40)}`
    if (next() < 0.5) for (const map of [steady, plain]) map.set(key, step)
    else expect(steady.delete(key)).toBe(plain.delete(key))
    expect([steady.size, steady.has(key), steady.get(key)]).toEqual([plain.size, plain.has(key), plain.get(key)])
    if (step % 100 === 0) expect([...steady.entries()]).toEqual([...plain])
  }
  expect([...steady.values()]).toEqual([...plain.values()])
  steady.clear()
  expect([steady.size, [...steady.entries()]]).toEqual([0, []])
})

it('entries may be deleted while they are iterated', () => {
  const map = new SteadyMap<number, string>()
  for (let n = 0; n < 3; n++) map.set(n, `v${n}`)
  for (const [key] of map.entries()) map.delete(key)
  expect(map.size).toBe(0)
})

it('a set has the items of a Set, in the same order', () => {
  const next = random(3)
  const [steady, plain] = [new SteadySet<number>(), new Set<number>()]
  for (let step = 0; step < 5_000; step++) {
    const item = Math.floor(next() * 40)
    if (next() < 0.5) for (const set of [steady, plain]) set.add(item)
    else expect(steady.delete(item)).toBe(plain.delete(item))
    expect([steady.size, steady.has(item)]).toEqual([plain.size, plain.has(item)])
    if (step % 100 === 0) expect([...steady]).toEqual([...plain])
  }
})
