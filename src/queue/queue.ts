import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type { ProcessIdentity } from './process-identity.ts'

/** Where a message waits to be taken. */
export type Transport = 'async' | 'scheduler'
export const transports: readonly Transport[] = ['async', 'scheduler']

/** A message as it is given to the queue. */
export interface NewMessage {
  transport: Transport
  /** `purge.deliver`: the handler of this name takes it. */
  type: string
  /** Anything that JSON can hold. */
  payload: unknown
  /** At most one worker holds messages of a group at a time, and takes them oldest first. */
  group?: string
  /** While a message with this key waits, another one is merged into it: it is not added. What is being worked on waits no more. */
  key?: string
  /** Milliseconds before it may be taken. */
  delay?: number
  /** Where it is merged: the waiting message is put off to this one's time. Without it that message's time stays. */
  postpone?: boolean
}

/** A message that a worker holds. */
export interface Message {
  readonly id: string
  readonly transport: Transport
  readonly type: string
  readonly payload: unknown
  readonly group: string | null
  readonly key: string | null
  /** How often it was handled without success before. */
  readonly attempts: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Names this hold on it, and no other. */
  readonly lease: string
}

/** What a handler is given: one message, and what it may do with it and with others of its group. */
export interface Work {
  readonly message: Message
  /** Aborted when the worker wants to end: finish soon, and `release` what is not finished. */
  readonly stop: AbortSignal
  /** Aborted when another worker has taken over: nothing that is written any more will count. */
  readonly lost: AbortSignal
  /**
   * The next waiting message of the same type and group, held by this worker too; null where there is none now, or
   * where the worker is to take no more. Without a group always null.
   */
  take(): Promise<Message | null>
  /**
   * The fence, to be the first call of a transaction that writes a result: what is written in the transaction
   * counts only if the message is still ours. It also says that the message made progress: its crashes are forgotten.
   *
   * @throws LEASE_LOST when somebody else holds the message, or it is gone
   */
  hold(transaction: RecordsTransaction, message: Message): Promise<void>
  /**
   * The message is done and leaves the queue; with a transaction, together with the result that is written in it.
   *
   * @throws LEASE_LOST
   */
  complete(message: Message, transaction?: RecordsTransaction): Promise<void>
  /**
   * Gives it back to wait; no attempt is counted. `delay` in milliseconds.
   *
   * @throws LEASE_LOST
   */
  release(message: Message, options?: { delay?: number }): Promise<void>
}

/**
 * What is done with messages of one type. When `handle` returns, every message that it holds and has neither
 * completed nor released is completed. When it throws, they are retried after a while, or go to the transport
 * `failed` when their tries are used up. An error with a property `retry: false` goes there at once; one with a property `attempts` counts the tries itself,
 * for a handler that releases its message between them.
 */
export interface Handler {
  readonly type: string
  /** How often a message is tried in all; 3 without it. */
  readonly tries?: number
  /** Milliseconds before the try after `attempts` failed ones, before jitter; 1 s, 2 s, 4 s … without it. */
  backoff?(attempts: number): number
  /** How many messages of this type one worker handles at once, those that a handler takes for itself not counted; 1 without it. Types never wait for each other. */
  readonly concurrency?: number
  handle(work: Work): Promise<void>
}

/** The queue, as those see it who give it messages and those who look after it. `consume` (src/queue/consume.ts) takes them. */
export interface Queue {
  /** Adds messages; with a transaction, together with the reason for them. How many were added: merged ones are not. */
  dispatch(messages: Iterable<NewMessage>, transaction?: RecordsDatabase): Promise<number>
  /** Depth of each transport, and who works. */
  statistics(): Promise<QueueStatistics>
  /** Failed messages, newest first. */
  listFailed(page: {
    limit: number
    offset: number
    type?: string
    transport?: Transport
  }): Promise<{ total: number; items: FailedMessage[] }>
  /** One failed message with its payload; null where there is none with the id. */
  readFailed(id: string): Promise<(FailedMessage & { payload: unknown }) | null>
  /** Puts failed messages back on the transport that they came from, with all their tries; null: every one of them. How many there were. */
  retryFailed(ids: readonly string[] | null, filter?: { transport?: Transport }): Promise<number>
  /** Deletes failed messages; null: every one of them. How many there were. */
  removeFailed(ids: readonly string[] | null, filter?: { transport?: Transport }): Promise<number>
  /** Asks all consumers that run now to finish what is in hand and leave; how many there are. */
  stopWorkers(): Promise<number>
  /** Registers a worker: what `consume` begins with. */
  join(worker: NewWorker): Promise<Membership>
  close(): Promise<void>
}

export interface NewWorker {
  kind: 'consumer' | 'daemon'
  /** In the order in which they are asked: what waits on the first goes before all of the next. */
  transports: readonly Transport[]
  types: readonly string[]
}

/** What workers see of each other. */
export interface WorkerSight {
  id: string
  /** Counts up for as long as the worker lives. */
  beat: number
  stopping: boolean
  process: ProcessIdentity
}

/**
 * A worker's place in the queue: what it holds, it holds for as long as it beats. Calls about a held message throw
 * LEASE_LOST when it is no longer held.
 */
export interface Membership {
  readonly id: string
  /** Says that the worker lives; false when others have taken it for dead and taken over what it held. */
  beat(): Promise<boolean>
  /** Every worker there is, this one included. */
  look(): Promise<WorkerSight[]>
  /** Lets what a dead worker held wait again; false when it has beaten since, or somebody else was faster. */
  takeOver(dead: Pick<WorkerSight, 'id' | 'beat'>): Promise<boolean>
  /** The next messages, held now, in the order in which they waited: as many of each type as is said, and `most` in all. */
  claim(wanted: ReadonlyMap<string, number>, most: number): Promise<Message[]>
  /** The next message of the same group and type; null where there is none. */
  take(message: Message): Promise<Message | null>
  hold(transaction: RecordsTransaction, message: Message): Promise<void>
  complete(message: Message, transaction?: RecordsTransaction): Promise<void>
  /** `delay` in milliseconds. */
  release(message: Message, delay: number): Promise<void>
  retry(message: Message, delay: number, error: string): Promise<void>
  /** `attempts`: how often it was tried in all; without it one more than the queue counted before. */
  fail(message: Message, error: string, attempts?: number): Promise<void>
  /** Differs from the last time when there may be something new to claim; costs next to nothing. */
  version(): string
  /** Puts back what is still held and takes the worker off the list. */
  leave(): Promise<void>
}

export interface FailedMessage {
  id: string
  type: string
  /** The transport that it came from. */
  transport: Transport
  group: string | null
  attempts: number
  crashes: number
  error: string
  createdAt: number
  failedAt: number
}

export interface TransportStatistics {
  name: Transport | 'failed'
  /** Messages on it: those that wait, those put off, those being worked on. */
  count: number
  /** May be taken now. */
  waiting: number
  /** Put off: retries and debounced ones. */
  delayed: number
  /** Being worked on. */
  held: number
  /** How long the oldest that may be taken has waited, in milliseconds; null where none waits. */
  oldestAge: number | null
}

export interface WorkerStatistics {
  id: string
  host: string
  pid: number
  kind: 'consumer' | 'daemon'
  transports: readonly string[]
  types: readonly string[]
  /** Milliseconds since the epoch. */
  startedAt: number
  seenAt: number
  stopping: boolean
  /** What it has in hand. */
  current: readonly { id: string; type: string; group: string | null }[]
}

export interface QueueStatistics {
  transports: readonly TransportStatistics[]
  workers: readonly WorkerStatistics[]
  failed: number
}
