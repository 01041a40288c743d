/** What a worker tells of its part of a run, about four times a second (src/warmup/run/live.ts). */
export interface WarmupLiveRow {
  run_id: string
  /** One process that works on the run. */
  worker: string
  /** JSON of `WorkerLive`. */
  snapshot: string
  at: number
}

/** How fast an origin may be asked, as the worker that asked it last left it. */
export interface WarmupOriginRow {
  origin: string
  /** No request starts before (milliseconds since the epoch). */
  not_before: number
  /** Requests at once. */
  concurrency: number
  at: number
}

/** The last run of what was purged; one row at most. */
export interface WarmupPurgedRow {
  run_id: string
  /** Purges until then were given to it (milliseconds since the epoch). */
  until: number
}
