/** What a worker tells of its part of a run, about four times a second (src/warmup/live.ts). */
export interface WarmupLiveRow {
  run_id: string
  /** One process that works on the run. */
  worker: string
  /** JSON of `WorkerLive`. */
  snapshot: string
  at: number
}
