interface Limits {
  maxConcurrent: number
  queue: number
  /** Milliseconds. */
  queueTimeout: number
}

/** The part of the limits of all processes that one of them has. */
export function limitsOfProcess({ maxConcurrent, queue, queueTimeout }: Limits, processes: number): Limits {
  return { maxConcurrent: share(maxConcurrent, processes), queue: share(queue, processes), queueTimeout }
}

/** At least 1, unless the limit is 0. */
function share(limit: number, processes: number): number {
  return Math.max(Math.min(limit, 1), Math.floor(limit / processes))
}
