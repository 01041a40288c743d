import { dayLength } from '../lib/moment.ts'

/** When a show expires: at the end (UTC) of the following day, in milliseconds since the epoch. */
export function showExpiry(at: number): number {
  return (Math.floor(at / dayLength) + 2) * dayLength
}

/** The expiry times of the shows that count now: those of today and yesterday. */
export function activeExpiries(now: number): number[] {
  return [showExpiry(now), showExpiry(now) - dayLength]
}
