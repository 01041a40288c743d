import type { NodeSetup } from '../cluster/run-node.ts'
import type { ErrorMessage } from '../errors.ts'
import type { SharedRemoval } from '../pages/page-store.ts'
import type { ConsumeEvent } from '../queue/consume-event.ts'
import type { RecordsPlace } from '../records/records.ts'
import type { NewMessage } from '../queue/queue.ts'
import type { PurgeBudget } from './intent.ts'
import type { DeliverySetup } from './deliver/open-delivery.ts'
import type { Invalidated, Invalidation } from './invalidation.ts'

/** The start data of the purge thread. */
export interface PurgerData {
  records: RecordsPlace
  /** The application cache directory. */
  cacheDir: string
  /** Limit of all bodies in bytes. */
  maxSize: number
  maxVariants: number
  proxies: readonly string[]
  followUp: NewMessage | null
  budget: PurgeBudget | null
  /** Threads of this process that ended with unfinished intents. */
  endedThreads: readonly number[]
  /** This process as one of several; null on SQLite. */
  node?: NodeSetup | null
}

/**
 * A task for the thread. `remove` removes pages without a log entry; `catchUp` carries out what other processes left unfinished;
 * `deliver` works on the deliveries in the queue until `stopDelivering` has the number of its task.
 */
export type PurgerTask =
  | { kind: 'invalidate'; invalidation: Invalidation }
  | { kind: 'remove'; removal: Omit<SharedRemoval, 'trace'> }
  | { kind: 'catchUp' }
  | { kind: 'cleanUp' }
  | { kind: 'deliver'; setup: DeliverySetup }
  | { kind: 'stopDelivering'; delivery: number }

/** Null: finish and exit. */
export type ToThread = readonly { id: number; task: PurgerTask }[] | null

export type PurgerAnswer = { id: number; value: Invalidated | number } | { id: number; error: ErrorMessage }

/** `opened`: true, or the error with which the thread failed to start. */
export interface FromThread {
  opened: true | ErrorMessage
  answers: PurgerAnswer[]
  /** Events of deliveries, with the number of their task. */
  events?: { id: number; event: ConsumeEvent }[]
  /** The task of a delivery that has joined the queue. */
  joined?: number
}
