import { dayLength } from './sums.ts'

/** When a show is forgotten: at the end (UTC) of the day after it, in milliseconds since the epoch. */
export function expiryOf(at: number): number {
  return (Math.floor(at / dayLength) + 2) * dayLength
}

/** When shows that count now are forgotten: those of today, and those of yesterday. */
export function liveExpiries(now: number): number[] {
  return [expiryOf(now), expiryOf(now) - dayLength]
}
