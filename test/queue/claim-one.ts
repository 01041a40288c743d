import type { Membership, Message } from '../../src/queue/queue.ts'

/** Claims the next message of a type; null without one. */
export async function claimOne(worker: Membership, type: string): Promise<Message | null> {
  return (await worker.claim(new Map([[type, 1]]), 1))[0] ?? null
}
