import type { Handler, Membership, Message, NewMessage } from '../../src/queue/queue.ts'

export function message(payload: unknown, more: Partial<NewMessage> = {}): NewMessage {
  return { transport: 'async', type: 'a', payload, ...more }
}

/** A handler that records its messages. */
export function noting(seen: unknown[], more: Partial<Handler> = {}): Handler {
  return { type: 'a', handle: async (work) => void seen.push(work.message.payload), ...more }
}

/** Claims the next message of a type; null without one. */
export async function claimOne(worker: Membership, type: string): Promise<Message | null> {
  return (await worker.claim(new Map([[type, 1]]), 1))[0] ?? null
}
