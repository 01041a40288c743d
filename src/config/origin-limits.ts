import type { Config } from './schema.ts'

/** Milliseconds that a request to the shop may spend in each of its phases. */
export function timeoutsOf({ connectTimeout, headersTimeout, idleTimeout, totalTimeout }: Config['origin']) {
  return { connect: connectTimeout, headers: headersTimeout, idle: idleTimeout, total: totalTimeout }
}

/** What one of several processes may ask of the shop: its part of the limits. */
export function shareOf(origin: Config['origin'], processes: number) {
  const { maxConcurrent, queue, queueTimeout } = origin
  const limits = { maxConcurrent: share(maxConcurrent, processes), queue: share(queue, processes), queueTimeout }
  return { timeouts: timeoutsOf(origin), limits, processes }
}

/** At least 1, unless the limit is 0. */
function share(limit: number, processes: number): number {
  return Math.max(Math.min(limit, 1), Math.floor(limit / processes))
}
