import { ByteBudget } from '../lib/byte-budget.ts'

const MiB = 2 ** 20

/** A decoder, an encoder and what is on its way between them: their windows above all. */
export const transcoderBytes = 8 * MiB

/** Budgets that all requests of this process share, also across reloads. */
export interface SendingBudgets {
  /**
   * Bodies of stored pages that are being sent: what is read for them, and what of the memory tier a slow reader keeps. About a thousand
   * readers of large bodies at a time; more wait for their turn.
   */
  bodies: ByteBudget
  /** Large pages that are being sent in another coding than they are stored in: four at a time. */
  transcoders: ByteBudget
}

export const inFlight: SendingBudgets = {
  bodies: new ByteBudget(64 * MiB),
  transcoders: new ByteBudget(4 * transcoderBytes),
}
