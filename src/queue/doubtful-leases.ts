import { PagecacheError } from '../errors.ts'
import type { Held } from './settle.ts'

/** Leases that the records may have granted although the answer was lost: no worker works on their messages. */
export class DoubtfulLeases {
  readonly #held: Held[] = []

  /** Waits for a commit that grants leases, and remembers them where it fails. */
  async note<T>(leases: readonly Held[], commit: Promise<T>): Promise<T> {
    try {
      return await commit
    } catch (error) {
      this.#held.push(...leases)
      throw error
    }
  }

  /** Gives them back. Those that remain because of an error are given back the next time. */
  async giveBack(release: (held: Held) => Promise<void>): Promise<void> {
    const left = this.#held.splice(0)
    try {
      for (let held; (held = left[0]) !== undefined; left.shift()) await release(held).catch(unlessLost)
    } finally {
      this.#held.push(...left)
    }
  }
}

/** A lease that was not granted, or is another worker's by now. */
function unlessLost(error: unknown): void {
  if (!(error instanceof PagecacheError && error.code === 'LEASE_LOST')) throw error
}
