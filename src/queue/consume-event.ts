import type { Message } from './queue.ts'

/** What happens while messages are consumed, for a log. */
export type ConsumeEvent =
  | { kind: 'handled' | 'lost'; message: Message }
  | { kind: 'retried'; message: Message; error: string; delay: number }
  | { kind: 'failed'; message: Message; error: string }
  /** The records are locked or full; the worker goes on as soon as they are not. */
  | { kind: 'trouble'; error: string }
  /** Another worker took us for dead and took over what was in hand. */
  | { kind: 'taken-over' }
