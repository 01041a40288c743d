/** Highest `warmup.concurrency`: concurrent requests of a warmup to one origin. */
export const maxWarmupConcurrency = 256

/** Which pages of a channel are warmed first: those that its sitemap ranks higher, or those with more hits. */
export const warmupOrders = ['priority', 'hits'] as const
export type WarmupOrder = (typeof warmupOrders)[number]
