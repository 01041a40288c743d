import { describe, expect, it } from 'vitest'
import { HashSet } from '../../src/lib/hash-set.ts'
import { random } from '../helpers/random.ts'

const next = random(11)
const number = () => Math.floor(next() * 2 ** 24) * 2 ** 24 + Math.floor(next() * 2 ** 24)

describe('a set of hashes', () => {
  it('has every number that was added, and hardly any other, in at most 8 bytes each', () => {
    const set = new HashSet()
    const added: number[] = []
    for (const most of [1, 10, 1_000, 65_536, 200_000, 400_000, 700_000, 1_000_000]) {
      while (added.length < most) {
        const value = number()
        added.push(value)
        set.add(value)
      }
      expect(added.every((value) => set.mayHave(value))).toBe(true)
      if (most >= 65_536) expect(set.bytes).toBeLessThanOrEqual(8 * most)
      const others = Array.from({ length: 10_000 }, number)
      expect(others.filter((value) => set.mayHave(value)).length).toBeLessThan(50)
    }
    expect(set.size).toBeGreaterThan(999_000)
    expect(set.size).toBeLessThanOrEqual(1_000_000)
  })

  it('takes no room while it is empty, and none for a number that it has', () => {
    const set = new HashSet()
    expect(set.mayHave(1)).toBe(false)
    expect(set.bytes).toBe(0)
    set.add(1)
    const { bytes } = set
    for (let n = 0; n < 100_000; n++) set.add(1)
    expect(set.size).toBe(1)
    expect(set.bytes).toBe(bytes)
  })

  it('has a number whose mixed hash is zero', () => {
    const set = new HashSet((value) => value >>> 0)
    expect(set.mayHave(0)).toBe(false)
    set.add(0)
    expect(set.mayHave(0)).toBe(true)
  })

  it('mixes with a secret: two sets do not confuse the same numbers', () => {
    const confused = () => {
      const set = new HashSet()
      for (let n = 0; n < 1_000_000; n++) set.add(n * 277_369)
      const others = Array.from({ length: 200_000 }, (_, n) => n * 277_369 + 100_003)
      return others.filter((value) => set.mayHave(value))
    }
    const first = confused()
    const again = new Set(confused())
    expect(first.filter((value) => again.has(value)).length).toBeLessThan(5)
  })

  it('neither forgets numbers nor grows for ever when all want the same place: that part has everything', () => {
    // The lowest bits count only in a part with millions of places.
    const set = new HashSet((value) => (value % 2 === 0 ? 0x12_000000 : 0x34_000000) + value)
    for (let n = 0; n < 10_000; n++) {
      set.add(n)
      expect(set.mayHave(n)).toBe(true)
    }
    for (let n = 0; n < 10_000; n++) expect(set.mayHave(n)).toBe(true)
    expect(set.bytes).toBeLessThan(2 ** 16)
    expect(set.mayHave(0x56_000000)).toBe(false)
  })
})
