import { realTiming } from '../../lib/timing.ts'
import type { PageStore } from '../../pages/page-store.ts'
import type { Handler } from '../../queue/queue.ts'
import type { RecordsDatabase } from '../../records/schema.ts'
import { deliverHandler, resumeDeliveries } from './deliver.ts'
import type { DeliverOptions } from './delivery.ts'
import type { Pending } from './plan.ts'

/** The configuration of deliveries, which another thread can be given. */
export interface DeliverySetup extends Pick<DeliverOptions, 'proxies' | 'settings'> {
  /** Names of the proxies between this cache and the shop. */
  upstream: readonly string[]
}

/** Makes the handler that delivers purges to the reverse proxies, and queues what another configuration left undelivered. */
export async function openDelivery(
  { proxies, settings, upstream }: DeliverySetup,
  { db, pages }: { db: RecordsDatabase; pages: () => Promise<Pick<PageStore, 'remove'>> },
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
      if (upstream.includes(proxy)) await removeRefetched(await pages(), delivered)
    },
  })
}

/**
 * Removes purged pages once more. A proxy between this cache and the shop may have answered with an old page after the local purge and
 * before its own.
 */
async function removeRefetched(pages: Pick<PageStore, 'remove'>, delivered: readonly Pending[] | null): Promise<void> {
  if (delivered === null) return void (await pages.remove({ kind: 'all' }))
  const { toMatcher } = await import('../pattern.ts')
  for (const { kind, key } of delivered)
    if (kind === 'pattern') await pages.remove({ kind: 'matching', matches: toMatcher(key!) })
  for (const soft of [false, true]) {
    const purges = delivered.filter((purge) => purge.soft === soft)
    const [urls, tags] = [keysOf(purges, ['url']), keysOf(purges, ['tag', 'entity'])]
    if (urls.length > 0) await pages.remove({ kind: 'urls', urls }, { soft })
    if (tags.length > 0) await pages.remove({ kind: 'tags', tags }, { soft })
  }
}

function keysOf(purges: readonly Pending[], kinds: readonly Pending['kind'][]): string[] {
  return [...new Set(purges.filter(({ kind }) => kinds.includes(kind)).map(({ key }) => key!))]
}
