import type { PurgeCluster } from '../../cluster/purge-cluster.ts'
import { realTiming } from '../../lib/timing.ts'
import type { PageStore } from '../../pages/page-store.ts'
import type { ConsumeEvent } from '../../queue/consume-event.ts'
import { consume } from '../../queue/consume.ts'
import type { Queue } from '../../queue/queue.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import { openDelivery, type DeliverySetup } from './open-delivery.ts'

export interface ThreadDeliveriesOptions {
  db: RecordsDatabase
  pages: PageStore
  cluster: PurgeCluster | null
  queue: Queue
  /** Reports the events of a delivery, except handled messages. */
  onEvent(id: number, event: ConsumeEvent): void
  /** Called when a delivery has joined the queue. */
  onJoined(id: number): void
}

/** The workers for deliveries in the purge thread. A reload runs two for a moment, one for each configuration. */
export class ThreadDeliveries {
  readonly #options: ThreadDeliveriesOptions
  readonly #running = new Map<number, AbortController>()

  constructor(options: ThreadDeliveriesOptions) {
    this.#options = options
  }

  /** Delivers until `stop` has the same id and the messages in hand are finished. Resolves to the number of messages. */
  async run(id: number, setup: DeliverySetup): Promise<number> {
    const { db, pages, cluster, queue, onEvent, onJoined } = this.#options
    const stop = new AbortController()
    this.#running.set(id, stop)
    try {
      const handler = await openDelivery(setup, { db, pages: async () => pages, cluster })
      const { taken } = await consume({
        queue,
        kind: 'daemon',
        transports: ['async'],
        handlers: [handler],
        stop: stop.signal,
        timing: realTiming,
        random: Math.random,
        memory: () => 0,
        onEvent: (event) => event.kind === 'handled' || onEvent(id, event),
        onJoined: () => onJoined(id),
      })
      return taken
    } finally {
      this.#running.delete(id)
    }
  }

  stop(id: number): void {
    this.#running.get(id)?.abort()
  }
}
