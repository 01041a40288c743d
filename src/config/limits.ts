/** Highest `warmup.concurrency`: concurrent requests of a warmup to one origin. */
export const maxWarmupConcurrency = 256
