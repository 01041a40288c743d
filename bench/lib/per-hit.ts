import { LRUCache } from 'lru-cache'
import { FifoCache } from '../../src/pages/fifo-cache.ts'
import { random } from '../../test/helpers/random.ts'
import { median } from './statistics.ts'

const entries = 20_000
const hits = 2_000_000
const rounds = 5

/** Nanoseconds of one look-up that finds its key, in the memory tier's cache and in an LRU of the same entries. */
export function nanosecondsPerHit(): Record<'pagecache' | 'lru', number> {
  const keys = Array.from({ length: entries }, (_, n) => `GET https://shop.example/category/page-${n}`)
  const fifo = new FifoCache<number>({ capacity: entries * 3, sizeOf: () => 1, onLeave: () => undefined })
  const lru = new LRUCache<string, number>({ maxSize: entries * 3, sizeCalculation: () => 1 })
  // Most are added the second time; of keys that share a hash, one is added per time (see `Departed` in fifo-cache.ts).
  while (keys.some((key) => fifo.peek(key) === undefined))
    for (const [n, key] of keys.entries()) for (const cache of [fifo, lru]) cache.set(key, n)
  const next = random(7)
  const order = Uint32Array.from({ length: 65_536 }, () => Math.floor(next() * entries))
  const time = (cache: { get(key: string): number | undefined }) => {
    const started = performance.now()
    let sum = 0
    for (let n = 0; n < hits; n++) sum += cache.get(keys[order[n & 65_535]!]!)!
    if (!(sum > 0)) throw new Error('A look-up found nothing')
    return ((performance.now() - started) * 1e6) / hits
  }
  const times = Array.from({ length: rounds + 1 }, () => ({ fifo: time(fifo), lru: time(lru) })).slice(1)
  return { pagecache: median(times.map((each) => each.fifo)), lru: median(times.map((each) => each.lru)) }
}
