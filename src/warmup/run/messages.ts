import type { Message, NewMessage } from '../../queue/queue.ts'

/** One batch of a run, on the queue. */
export const batchType = 'warmup.batch'

export interface BatchPayload {
  run: string
  batch: number
}

/** The key prefix of all messages of a run. */
export function batchKeys(runId: string): string {
  return `warmup:${runId}:`
}

/** The queue hands the messages of a group to one process at a time, so that an origin's limits hold across processes. */
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

export function batchOf(message: Pick<Message, 'payload'>): BatchPayload {
  return message.payload as BatchPayload
}

export function originOf(message: Message): string {
  return (message.group ?? '').slice(originGroup('').length)
}
