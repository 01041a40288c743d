import type { Message, NewMessage } from '../../queue/queue.ts'

/** One batch of a run, on the queue. */
export const batchType = 'warmup.batch'

export interface BatchPayload {
  run: string
  batch: number
}

/** All messages of a run have keys that begin so. */
export function batchKeys(runId: string): string {
  return `warmup:${runId}:`
}

/** One origin is asked by one process at a time: its limits hold over all of them. */
function originGroup(origin: string): string {
  return `origin:${origin}`
}

export function batchMessage(runId: string, batch: number, origin: string): NewMessage {
  return {
    transport: 'async',
    type: batchType,
    payload: { run: runId, batch } satisfies BatchPayload,
    group: originGroup(origin),
    key: `${batchKeys(runId)}${batch}`,
  }
}

export function batchOf(message: Message): BatchPayload {
  return message.payload as BatchPayload
}

export function originOf(message: Message): string {
  return (message.group ?? '').slice(originGroup('').length)
}
