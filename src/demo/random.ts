import { createHash } from 'node:crypto'

/** A generator of numbers in [0, 1); a seed always gives the same ones. */
export type Random = () => number

/** Mulberry32: small, fast, and good enough for shop texts and latencies. */
export function createRandom(seed: string): Random {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A whole number from `low` to `high`, both included. */
export function between(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1))
}

export function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new RangeError('nothing to pick from')
  return item
}

/** Derives a Shopware id (32 lower-case hex digits) from a name. */
export function idOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 32)
}
