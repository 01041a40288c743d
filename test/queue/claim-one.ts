import type { Membership, Message } from '../../src/queue/queue.ts'

/** The next message of a type, held by the worker; null where there is none. */
export async function claimOne(worker: Membership, type: string): Promise<Message | null> {
  return (await worker.claim(new Map([[type, 1]]), 1))[0] ?? null
}
