import type { PurgeCluster } from '../../cluster/purge-cluster.ts'
import { realTiming } from '../../lib/timing.ts'
import type { PageStore } from '../../pages/page-store.ts'
import type { Handler } from '../../queue/queue.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import { removeRefetched } from '../remove-refetched.ts'
import { deliverHandler, resumeDeliveries } from './deliver.ts'
import type { DeliverOptions } from './delivery.ts'

/** The configuration of deliveries, which another thread can be given. */
export interface DeliverySetup extends Pick<DeliverOptions, 'proxies' | 'settings'> {
  /** Names of the proxies between this cache and the shop. */
  upstream: readonly string[]
}

interface DeliveryParts {
  db: RecordsDatabase
  pages(): Promise<Pick<PageStore, 'remove' | 'removeTogether'>>
  /** The other nodes; null without any. */
  cluster: PurgeCluster | null
}

/** Makes the handler that delivers purges to the reverse proxies, and queues what another configuration left undelivered. */
export async function openDelivery(
  { proxies, settings, upstream }: DeliverySetup,
  { db, pages, cluster }: DeliveryParts,
): Promise<Handler> {
  await resumeDeliveries(
    { db, now: Date.now },
    proxies.map(({ name }) => name),
  )
  return deliverHandler({
    db,
    now: Date.now,
    random: Math.random,
    timing: realTiming,
    proxies,
    settings,
    onDelivered: async (proxy, delivered) => {
      if (upstream.includes(proxy)) await removeRefetched({ pages: await pages(), cluster }, delivered)
    },
  })
}
