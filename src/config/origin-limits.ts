import type { Config } from './schema.ts'

/** Milliseconds that a request to the shop may spend in each of its phases. */
export function timeoutsOf({ connectTimeout, headersTimeout, idleTimeout, totalTimeout }: Config['origin']) {
  return { connect: connectTimeout, headers: headersTimeout, idle: idleTimeout, total: totalTimeout }
}

/** The part of the limits of all processes that one of them has. */
export function limitsOf({ maxConcurrent, queue, queueTimeout }: Config['origin'], processes: number) {
  return { maxConcurrent: share(maxConcurrent, processes), queue: share(queue, processes), queueTimeout }
}

/** At least 1, unless the limit is 0. */
function share(limit: number, processes: number): number {
  return Math.max(Math.min(limit, 1), Math.floor(limit / processes))
}
