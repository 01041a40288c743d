import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type { ProcessIdentity } from '../lib/process-identity.ts'

/** A list of messages that workers take from. */
export type Transport = 'async' | 'scheduler'
export const transports: readonly Transport[] = ['async', 'scheduler']

/** A message to be dispatched. */
export interface NewMessage {
  transport: Transport
  /** Selects the handler, such as `purge.deliver`. */
  type: string
  /** Any JSON value. */
  payload: unknown
  /** At most one worker holds messages of a group at a time; it takes them oldest first. */
  group?: string
  /** While a message with this key waits, a new one is merged into it, that is, not added. A held message does not count as waiting. */
  key?: string
  /** Milliseconds until it is due. */
  delay?: number
  /** Whether a merge delays the waiting message to this one's time; otherwise it keeps its own. */
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
  /** Failed attempts so far. */
  readonly attempts: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Identifies this lease of the message. */
  readonly lease: string
}

/** What a handler receives: a message, and the operations on it and on others of its group. */
export interface Work {
  readonly message: Message
  /** Aborted when the worker is about to end: finish soon, and `release` unfinished messages. */
  readonly stop: AbortSignal
  /** Aborted when another worker has taken over the message: no further write succeeds. */
  readonly lost: AbortSignal
  /**
   * Takes the next waiting message of the same type and group; null if there is none, if the worker takes no more, or if another call of
   * the handler has got the group after this one had completed all its messages. Always null without a group.
   */
  take(): Promise<Message | null>
  /**
   * Fences a transaction: call it first in a transaction that writes a result, which then fails if the lease was lost. It also counts
   * as progress and resets the message's crashes.
   *
   * @throws LEASE_LOST when another worker holds the message, or it was deleted
   */
  hold(transaction: RecordsTransaction, message: Message): Promise<void>
  /**
   * Deletes the handled message; with a transaction, together with the result that the transaction writes.
   *
   * @throws LEASE_LOST
   */
  complete(message: Message, transaction?: RecordsTransaction): Promise<void>
  /**
   * Puts the message back without counting an attempt. `delay` in milliseconds.
   *
   * @throws LEASE_LOST
   */
  release(message: Message, options?: { delay?: number }): Promise<void>
}

/**
 * Handles messages of one type. When `handle` returns, every message that it still holds is completed. When it throws, they are retried
 * with backoff, or moved to the transport `failed` after the last try. An error with the property `retry: false` moves them at once; its
 * property `attempts` replaces the count of attempts, for a handler that releases its message between them.
 */
export interface Handler {
  readonly type: string
  /** Most attempts for a message; default 3. */
  readonly tries?: number
  /** Milliseconds before the next attempt after `attempts` failed ones, before jitter; default 1 s, 2 s, 4 s … */
  backoff?(attempts: number): number
  /** How many calls of `handle` one worker runs at a time; default 1. Types never wait for each other. */
  readonly concurrency?: number
  handle(work: Work): Promise<void>
}

/** The queue, for dispatching and operating; workers run `consume` (src/queue/consume.ts). */
export interface Queue {
  /** Adds messages, in the transaction if given. Returns how many were added, without merged ones. */
  dispatch(messages: Iterable<NewMessage>, transaction?: RecordsDatabase): Promise<number>
  /** The depth of each transport, and the workers. */
  statistics(): Promise<QueueStatistics>
  /** Failed messages, newest first. */
  listFailed(page: {
    limit: number
    offset: number
    type?: string
    transport?: Transport
  }): Promise<{ total: number; items: FailedMessage[] }>
  /** One failed message with its payload; null if the id is unknown. */
  readFailed(id: string): Promise<(FailedMessage & { payload: unknown }) | null>
  /** Puts failed messages back on their transports with no attempts counted (`ids` null: all of them). Returns how many. */
  retryFailed(ids: readonly string[] | null, filter?: { transport?: Transport }): Promise<number>
  /** Deletes failed messages (`ids` null: all of them). Returns how many. */
  removeFailed(ids: readonly string[] | null, filter?: { transport?: Transport }): Promise<number>
  /** Asks all running consumers to finish the messages in hand and leave. Returns how many. */
  stopWorkers(): Promise<number>
  /** Registers a worker; `consume` calls it first. */
  join(worker: NewWorker): Promise<Membership>
  close(): Promise<void>
}

export interface NewWorker {
  /** Given again after a call whose outcome is unknown, so that it leaves no worker behind that never sends a heartbeat. Default: a new one. */
  id?: string
  kind: 'consumer' | 'daemon'
  /** Highest priority first: a transport is used only while the earlier ones have no message. */
  transports: readonly Transport[]
  types: readonly string[]
}

/** A worker as the other workers see it. */
export interface WorkerPresence {
  id: string
  /** Heartbeat: counts up while the worker is alive. */
  beat: number
  stopping: boolean
  process: ProcessIdentity
}

/**
 * A registered worker. Its leases are valid for as long as it sends heartbeats. Calls with a message throw LEASE_LOST when the message
 * is no longer held.
 */
export interface Membership {
  readonly id: string
  /** Sends a heartbeat; false if other workers have considered this one dead and taken over its messages. */
  beat(): Promise<boolean>
  /** All workers, including this one. */
  listWorkers(): Promise<WorkerPresence[]>
  /** Puts back the messages of a dead worker; false if it has sent a heartbeat since, or another worker was faster. */
  takeOver(dead: Pick<WorkerPresence, 'id' | 'beat'>): Promise<boolean>
  /** Leases the next messages, longest due first: at most `wanted` of each type and `most` in total. */
  claim(wanted: ReadonlyMap<string, number>, most: number): Promise<Message[]>
  /** Leases the next message of the same group and type; null if there is none, or if another call of a handler holds the group. */
  take(message: Message): Promise<Message | null>
  hold(transaction: RecordsTransaction, message: Message): Promise<void>
  complete(message: Message, transaction?: RecordsTransaction): Promise<void>
  /** `delay` in milliseconds. */
  release(message: Message, delay: number): Promise<void>
  retry(message: Message, delay: number, error: string): Promise<void>
  /** `attempts`: the total number of attempts; default one more than before. */
  fail(message: Message, error: string, attempts?: number): Promise<void>
  /** A value that changes when there may be something new to claim; about a microsecond. */
  version(): string
  /** Calls the listener when there may soon be something new to claim; see `Records.watch`. */
  watch(listener: () => void): (() => void) | null
  /** Milliseconds after which there may be something to claim although `version` is the same. */
  untilDue(): Promise<number>
  /** Puts back the messages still held and unregisters the worker. */
  leave(): Promise<void>
}

export interface FailedMessage {
  id: string
  type: string
  /** The transport on which it failed. */
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
  /** All messages: waiting, delayed and held. */
  count: number
  /** Due messages that no worker holds. */
  waiting: number
  /** Messages that are not due yet: retries and debounced ones. */
  delayed: number
  /** Messages that a worker holds. */
  held: number
  /** How long the oldest waiting message has been due, in milliseconds; null without one. */
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
  /** The messages that it holds. */
  current: readonly { id: string; type: string; group: string | null }[]
}

export interface QueueStatistics {
  transports: readonly TransportStatistics[]
  workers: readonly WorkerStatistics[]
  failed: number
}
