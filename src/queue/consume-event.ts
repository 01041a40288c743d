import type { Message, WorkerPresence } from './queue.ts'

/** An event of a worker, for its log. */
export type ConsumeEvent =
  | { kind: 'handled' | 'lost'; message: Message }
  | { kind: 'retried'; message: Message; error: string; delay: number }
  | { kind: 'failed'; message: Message; error: string }
  /** The records are locked, full or lost; the worker retries until they are usable. */
  | { kind: 'unavailable'; error: string }
  /** Another worker ended without leaving; its messages were taken over. */
  | { kind: 'buried'; worker: WorkerPresence }
  /** Another worker considered this one dead and took over its messages. */
  | { kind: 'taken-over' }
