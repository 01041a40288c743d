/** Returns milliseconds since the epoch. */
export type Clock = () => number

/**
 * A clock that reads the wall clock once and then follows the monotonic timer, so that changing the wall clock neither
 * expires nor refreshes anything in this process.
 */
export function steadyClock(): Clock {
  const origin = Date.now() - performance.now()
  return () => Math.round(origin + performance.now())
}
