/** Milliseconds since the epoch. */
export type Clock = () => number

/**
 * A clock that reads the wall once and then follows the monotonic timer: when somebody sets the wall
 * clock, nothing in this process expires or becomes fresh because of it.
 */
export function steadyClock(): Clock {
  const origin = Date.now() - performance.now()
  return () => Math.round(origin + performance.now())
}
