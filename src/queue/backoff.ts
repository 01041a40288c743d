/** Before jitter, in milliseconds: a second, then twice as long after each further try, a minute at most. */
export function defaultBackoff(attempts: number): number {
  return Math.min(60_000, 1000 * 2 ** (attempts - 1))
}

/** Up to a fifth shorter or longer, so that what failed together does not come back together. `random` is 0 to 1. */
export function jittered(delay: number, random: number): number {
  return Math.round(delay * (0.8 + 0.4 * random))
}
