import { ByteBudget } from '../lib/byte-budget.ts'

const MiB = 2 ** 20

/**
 * All bodies of stored pages that are being sent by this process: what is read for them, and what of the memory tier a slow reader
 * keeps. About a thousand readers of large bodies at a time; more wait for their turn.
 */
export const inFlight = new ByteBudget(64 * MiB)
