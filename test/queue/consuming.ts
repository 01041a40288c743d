import type { Handler, NewMessage } from '../../src/queue/queue.ts'

export function message(payload: unknown, more: Partial<NewMessage> = {}): NewMessage {
  return { transport: 'async', type: 'a', payload, ...more }
}

/** A handler that records its messages. */
export function noting(seen: unknown[], more: Partial<Handler> = {}): Handler {
  return { type: 'a', handle: async (work) => void seen.push(work.message.payload), ...more }
}
