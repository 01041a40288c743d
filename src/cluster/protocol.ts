/** Constants of the protocol. docs/cluster.md explains them. */

/** A member renews its lease this many times while it lasts. */
export const renewalsPerLease = 4

/**
 * How much longer than a lease a purge waits for its end, as a factor: the clocks of two machines may differ in speed by less than this.
 */
export const driftMargin = 1.1

/** Most purges of one read. */
export const readLimit = 200
