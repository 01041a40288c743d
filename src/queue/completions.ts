import type { RecordsTransaction } from '../records/schema.ts'
import { leaseLost, removeIfHeld, type Held } from './settle.ts'

interface Completion {
  held: Held
  resolve(): void
  reject(error: unknown): void
}

/**
 * Messages that are done and whose rows are still there. They leave the queue together, with the next claim where one
 * follows at once: a commit that is synced costs more than everything else about a quick message.
 */
export class Completions {
  #pending: Completion[] = []
  readonly #commit: (work: (transaction: RecordsTransaction) => Promise<void>) => Promise<void>

  constructor(commit: (work: (transaction: RecordsTransaction) => Promise<void>) => Promise<void>) {
    this.#commit = commit
  }

  get waiting(): boolean {
    return this.#pending.length > 0
  }

  /** Resolves when the message has left the queue, durably. @throws LEASE_LOST, and what the records throw */
  add(held: Held): Promise<void> {
    return new Promise((resolve, reject) => {
      // Two turns: in the first one the worker claims its next message, if there is one, and takes this along.
      if (this.#pending.length === 0) setImmediate(() => setImmediate(() => void this.#commitAlone()))
      this.#pending.push({ held, resolve, reject })
    })
  }

  async #commitAlone(): Promise<void> {
    // Those who wait are told of an error themselves.
    if (this.waiting) await this.commitWith(async () => {}).catch(() => {})
  }

  /** Commits what is pending in one transaction with `work`. When that fails, all of it fails with the same error. */
  async commitWith(work: (transaction: RecordsTransaction) => Promise<void>): Promise<void> {
    const batch = this.#pending.splice(0)
    const lost = new Set<Completion>()
    try {
      await this.#commit(async (transaction) => {
        lost.clear()
        for (const completion of batch) if (!(await removeIfHeld(transaction, completion.held))) lost.add(completion)
        await work(transaction)
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
      throw error
    }
    for (const completion of batch) {
      if (lost.has(completion)) completion.reject(leaseLost(completion.held.id))
      else completion.resolve()
    }
  }
}
