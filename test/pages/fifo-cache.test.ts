import { expect, it } from 'vitest'
import { FifoCache } from '../../src/pages/fifo-cache.ts'
import { policies } from '../../bench/lib/policies.ts'
import { hitRatio } from '../../bench/lib/trace.ts'
import { random } from '../helpers/random.ts'

interface Entry {
  key: string
  size: number
  uses: number
}

/** The same policy over plain arrays, oldest entry first: the reference. */
class Reference {
  readonly left: string[] = []
  #fresh: Entry[] = []
  #proven: Entry[] = []
  #departed: string[] = []
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  #find(key: string): Entry | undefined {
    return [...this.#fresh, ...this.#proven].find((entry) => entry.key === key)
  }

  get(key: string): number | undefined {
    const entry = this.#find(key)
    if (entry !== undefined) entry.uses = Math.min(3, entry.uses + 1)
    return entry?.size
  }

  set(key: string, size: number): void {
    const known = this.#find(key)
    if (size > this.#capacity) return this.#leave(known)
    const returns = this.#departed.includes(key)
    const isProven = known === undefined ? returns : this.#proven.includes(known)
    const count = this.#fresh.length + this.#proven.length
    if (known === undefined) {
      this.#departed = this.#departed.filter((gone) => gone !== key)
      const fits = this.size + size <= this.#capacity && sum(this.#fresh) <= this.#capacity * 0.1
      if (!returns && !fits) return this.#depart(key, count)
    }
    this.#take(known)
    for (let others = known === undefined ? count + 1 : count; this.size + size > this.#capacity;)
      others -= this.#evict(others)
    ;(isProven ? this.#proven : this.#fresh).push({ key, size, uses: known?.uses ?? 0 })
  }

  delete(key: string): void {
    const entry = this.#find(key)
    if (entry === undefined) return
    if (this.#proven.includes(entry) || entry.uses > 0) this.#depart(key, this.#fresh.length + this.#proven.length)
    this.#leave(entry)
  }

  get size(): number {
    return sum(this.#fresh) + sum(this.#proven)
  }

  get keys(): string[] {
    return [...this.#fresh, ...this.#proven].map((entry) => entry.key).sort()
  }

  /** Returns how many entries left; `count`: the entries, including the one being added. */
  #evict(count: number): number {
    const isFresh = this.#fresh.length > 0
    const entry = (isFresh ? this.#fresh : this.#proven)[0]!
    if (entry.uses > 0) {
      this.#take(entry)
      this.#proven.push(Object.assign(entry, { uses: isFresh ? 0 : entry.uses - 1 }))
      return 0
    }
    if (isFresh) this.#depart(entry.key, count)
    this.#leave(entry)
    return 1
  }

  /** @param count entries, of which it remembers as many as would fill the cache */
  #depart(key: string, count: number): void {
    const most = Math.ceil((count * this.#capacity) / this.size)
    this.#departed = [...this.#departed.slice(Math.max(0, this.#departed.length - most + 1)), key]
  }

  #leave(entry: Entry | undefined): void {
    this.#take(entry)
    if (entry !== undefined) this.left.push(entry.key)
  }

  #take(entry: Entry | undefined): void {
    this.#fresh = this.#fresh.filter((other) => other !== entry)
    this.#proven = this.#proven.filter((other) => other !== entry)
  }
}

function sum(entries: readonly Entry[]): number {
  return entries.reduce((total, { size }) => total + size, 0)
}

it.each([1, 2, 3])('holds and evicts what the reference does (seed %i)', (seed) => {
  const next = random(seed)
  const whole = (below: number) => Math.floor(next() * below)
  const left: string[] = []
  const cache = new FifoCache<number>({ capacity: 1_000, sizeOf: (size) => size, onLeave: (_, key) => left.push(key) })
  const reference = new Reference(1_000)
  const present = new Set<string>()
  for (let step = 0; step < 5_000; step++) {
    const key = `k${whole(60) ** 2 % 60}`
    const action = next()
    if (action < 0.6) expect(cache.get(key)).toBe(reference.get(key))
    else if (action < 0.95) {
      const size = whole(next() < 0.01 ? 1_500 : 90)
      for (const each of [cache, reference]) each.set(key, size)
      present.add(key)
    } else for (const each of [cache, reference]) each.delete(key)
    expect(cache.size).toBe(reference.size)
    expect(cache.size).toBeLessThanOrEqual(1_000)
  }
  expect(left).toEqual(reference.left)
  expect([...present].filter((key) => cache.peek(key) !== undefined).sort()).toEqual(reference.keys)
})

it('new entries take a tenth of the capacity, and the rest is for those that are offered again', () => {
  const cache = new FifoCache<number>({ capacity: 1_000, sizeOf: (size) => size, onLeave: () => undefined })
  const crawl = (from: number, to: number) => {
    for (let n = from; n < to; n++) cache.set(`crawled${n}`, 10)
  }
  crawl(0, 100)
  expect([cache.size, cache.peek('crawled10'), cache.peek('crawled11')]).toEqual([110, 10, undefined])
  crawl(40, 80)
  expect(cache.size).toBe(510)
  crawl(1_000, 2_000)
  expect([cache.size, cache.peek('crawled0'), cache.peek('crawled79')]).toEqual([510, 10, 10])
})

it('entries that are offered again displace new ones first, and then the others', () => {
  const left: string[] = []
  const cache = new FifoCache<number>({ capacity: 100, sizeOf: (size) => size, onLeave: (_, key) => left.push(key) })
  for (let n = 0; n < 28; n++) cache.set(`k${n >> 1}`, 10)
  expect([cache.size, left]).toEqual([100, ['k0', 'k1', 'k2', 'k3']])
})

it('entries that are requested in turn stay if all of them fit', () => {
  const cache = new FifoCache<number>({ capacity: 1_000, sizeOf: (size) => size, onLeave: () => undefined })
  const missesOfRound = () => {
    const missing = Array.from({ length: 95 }, (_, n) => `k${n}`).filter((key) => cache.get(key) === undefined)
    for (const key of missing) cache.set(key, 10)
    return missing.length
  }
  for (let round = 0; round < 3; round++) missesOfRound()
  expect(missesOfRound()).toBe(0)
})

it('a large new entry is added while there is room for it, and evicts nothing', () => {
  const cache = new FifoCache<number>({ capacity: 100, sizeOf: (size) => size, onLeave: () => undefined })
  for (let round = 0; round < 2; round++) for (const key of ['large', 'popular']) cache.set(key, 40)
  cache.set('another', 70)
  expect(['popular', 'large', 'another'].map((key) => cache.peek(key))).toEqual([40, 40, undefined])
})

it('a value that grows evicts others and not itself', () => {
  const left: string[] = []
  const cache = new FifoCache<number>({ capacity: 100, sizeOf: (size) => size, onLeave: (_, key) => left.push(key) })
  cache.set('a', 10)
  cache.set('b', 20)
  cache.set('a', 90)
  expect([cache.peek('a'), cache.size, left]).toEqual([90, 90, ['b']])
})

it('a proven entry that was removed returns proven', () => {
  const cache = new FifoCache<number>({ capacity: 100, sizeOf: (size) => size, onLeave: () => undefined })
  cache.set('popular', 10)
  cache.get('popular')
  cache.delete('popular')
  cache.set('popular', 10)
  for (let n = 0; n < 100; n++) cache.set(`crawled${n}`, 10)
  expect(cache.peek('popular')).toBe(10)
})

it('one key requested without end is evicted once it is no longer requested', () => {
  const cache = new FifoCache<number>({ capacity: 100, sizeOf: (size) => size, onLeave: () => undefined })
  cache.set('attacked', 10)
  for (let n = 0; n < 1_000_000; n++) cache.get('attacked')
  // What is offered twice displaces the one that is no longer requested.
  for (let n = 0; n < 300; n++) cache.set(`k${n >> 1}`, 10)
  expect(cache.peek('attacked')).toBeUndefined()
})

it('forgets what was offered longer ago than the capacity can hold', () => {
  const cache = new FifoCache<number>({ capacity: 100, sizeOf: (size) => size, onLeave: () => undefined })
  const offer = (key: string) => {
    cache.set(key, 10)
    return cache.peek(key) !== undefined
  }
  expect(['a', 'b', 'c', 'd', 'd'].map(offer)).toEqual([true, true, false, false, true])
  for (let n = 0; n < 10; n++) expect(offer(`crawled${n}`)).toBe(false)
  expect(offer('c')).toBe(false)
})

it('clear removes everything without a notice', () => {
  const left: string[] = []
  const cache = new FifoCache<number>({ capacity: 100, sizeOf: (size) => size, onLeave: (_, key) => left.push(key) })
  for (let n = 0; n < 20; n++) cache.set(`k${n}`, 10)
  left.splice(0)
  cache.clear()
  expect([cache.size, [...cache.values()], cache.peek('k19'), left]).toEqual([0, [], undefined, []])
})

it('a crawler costs visitors hardly a hit, where LRU loses a quarter of them', () => {
  const trace = { pages: 5_000, skew: 0.9, visits: 30_000 }
  const during = (name: string, crawled: number) => hitRatio(policies[name]!(4 * 2 ** 20), { ...trace, crawled }).crawl
  expect(during('pagecache', 30_000)).toBeGreaterThan(0.95 * during('pagecache', 0))
  expect(during('lru', 30_000)).toBeLessThan(0.8 * during('lru', 0))
  expect(during('pagecache', 30_000)).toBeGreaterThan(1.3 * during('lru', 30_000))
})
