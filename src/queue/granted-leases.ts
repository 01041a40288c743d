import { PagecacheError } from '../errors.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import type { Held } from './settle.ts'

/**
 * The leases that a worker knows. The records may assign it others: from a claim whose answer was lost, or for a message whose deletion the
 * database server has lost in a crash. No worker processes these messages, and none takes them over, because this one is alive. So it gives
 * them back itself.
 */
export class GrantedLeases {
  readonly #leases = new Map<string, string>()
  /** Whether the answer to a claim was lost. */
  isDoubtful = false

  /** Waits for a transaction that grants leases. It may be repeated. */
  async grant<Message extends Held>(
    execute: (work: (transaction: RecordsTransaction) => Promise<void>) => Promise<void>,
    lease: (transaction: RecordsTransaction) => Promise<Message[]>,
  ): Promise<Message[]> {
    let messages: Message[] = []
    const forget = () => messages.forEach((message) => this.#forget(message))
    try {
      await execute(async (transaction) => {
        forget()
        messages = []
        messages = await lease(transaction)
        // Before the commit, after which a heartbeat may find them in the records.
        for (const message of messages) this.#leases.set(message.id, message.lease)
      })
    } catch (error) {
      this.isDoubtful ||= messages.length > 0
      forget()
      throw error
    }
    return messages
  }

  /** Waits until a message is deleted or given back. */
  async settle(held: Held, settling: Promise<void>): Promise<void> {
    await settling.catch((error: unknown) => {
      if (isLeaseLost(error)) this.#forget(held)
      throw error
    })
    this.#forget(held)
  }

  /** Gives back the worker's leases in the records that it does not know. */
  async giveBackUnknown(
    readLeases: () => Promise<readonly Held[]>,
    giveBack: (held: Held) => Promise<void>,
  ): Promise<void> {
    const wasDoubtful = this.isDoubtful
    // Before the leases are read: the answer to another claim may be lost while that takes.
    this.isDoubtful = false
    try {
      for (const held of await readLeases()) {
        if (this.#leases.get(held.id) === held.lease) continue
        await giveBack(held).catch((error: unknown) => {
          // The message has been settled in the meantime.
          if (!isLeaseLost(error)) throw error
        })
      }
    } catch (error) {
      this.isDoubtful ||= wasDoubtful
      throw error
    }
  }

  #forget({ id, lease }: Held): void {
    // The worker may have taken the message again, under another lease.
    if (this.#leases.get(id) === lease) this.#leases.delete(id)
  }
}

function isLeaseLost(error: unknown): boolean {
  return error instanceof PagecacheError && error.code === 'LEASE_LOST'
}
