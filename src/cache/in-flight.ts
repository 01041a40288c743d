import { ByteBudget } from '../lib/byte-budget.ts'

const MiB = 2 ** 20

/** Memory of a decoder and an encoder with their buffers, mostly their windows, in bytes. */
export const transcoderBytes = 8 * MiB

/** Memory budgets shared by all requests of this process, across reloads too. */
export interface SendingBudgets {
  /**
   * Bodies of stored pages that are being sent: the pieces read from files, and bodies of the memory tier held by slow
   * readers. Enough for about a thousand readers of large bodies; further ones wait.
   */
  bodies: ByteBudget
  /** Large bodies that are being transcoded for clients that do not accept the stored coding: four at a time. */
  transcoders: ByteBudget
  /** Disk space of transcoded bodies, from the start until the last reader has left. */
  spools: ByteBudget
  /** Pages that wait for their fragments. Beyond it, the visitors who wait longest are told to come back. */
  assemblies: ByteBudget
}

export const inFlight: SendingBudgets = {
  bodies: new ByteBudget(64 * MiB),
  transcoders: new ByteBudget(4 * transcoderBytes),
  spools: new ByteBudget(1024 * MiB),
  assemblies: new ByteBudget(64 * MiB),
}
