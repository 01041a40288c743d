/** Counters of the shared pages since the start of this process. */
export interface SharedPageCounts {
  /** Pages of other nodes that were used instead of a fetch. */
  hits: number
  /** Pages that had to be fetched. */
  misses: number
  /** Values that no node had written in this form. */
  invalid: number
  /** Looks that failed, or were not made because Redis fails. */
  unavailable: number
  /** Fetches of other nodes that were awaited. */
  waits: number
  written: number
  /** Pages not written because Redis failed or too many were being written. */
  unwritten: number
}

export function noCounts(): SharedPageCounts {
  return { hits: 0, misses: 0, invalid: 0, unavailable: 0, waits: 0, written: 0, unwritten: 0 }
}
