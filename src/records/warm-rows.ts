/** A worker's live progress in a run, saved about four times a second (src/warmup/run/live.ts). */
export interface WarmupLiveRow {
  run_id: string
  /** Id of the worker. */
  worker: string
  /** JSON of `WorkerLive`. */
  snapshot: string
  at: number
}

/** The request limits of an origin, as left by the last worker that used it. */
export interface WarmupOriginRow {
  origin: string
  /** No request starts before this time (milliseconds since the epoch). */
  not_before: number
  /** Most concurrent requests. */
  concurrency: number
  at: number
}

/** The last warmup of purged pages; at most one row. */
export interface WarmupPurgedRow {
  run_id: string
  /** The run covers purges up to this time (milliseconds since the epoch). */
  until: number
}
