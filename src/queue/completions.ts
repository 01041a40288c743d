import type { RecordsTransaction } from '../records/schema.ts'
import { leaseLost, removeIfHeld, type Held } from './settle.ts'

interface Completion {
  held: Held
  resolve(): void
  reject(error: unknown): void
}

/**
 * Handled messages whose rows are not deleted yet. They are deleted together, in the transaction of the next claim where one follows at
 * once: for a quick message the commit costs more than everything else.
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

  /** Resolves when the deletion is committed. @throws LEASE_LOST, and what the records throw */
  add(held: Held): Promise<void> {
    return new Promise((resolve, reject) => {
      // Two turns: in the first one the worker may claim its next message and commit this one with it.
      if (this.#pending.length === 0) setImmediate(() => setImmediate(() => void this.#commitAlone()))
      this.#pending.push({ held, resolve, reject })
    })
  }

  async #commitAlone(): Promise<void> {
    // Each waiting caller receives the error itself.
    if (this.waiting) await this.commitWith(async () => {}).catch(() => {})
  }

  /** Commits the pending completions and `work` in one transaction. If it fails, all of them fail with the same error. */
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
