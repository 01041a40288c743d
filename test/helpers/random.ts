/** Random numbers from 0 to 1 (mulberry32). The same seed gives the same numbers, so that failures can be reproduced. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** True in this share of the cases. */
export const chance = (next: () => number, share: number): boolean => next() < share

export const pick = <T>(next: () => number, from: readonly T[]): T => from[Math.floor(next() * from.length)]!
