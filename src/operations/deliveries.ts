import * as z from 'zod/mini'
import type { App } from '../app.ts'
import { described } from './fields.ts'

/** Output fields of every operation that purges: how the reverse proxies are informed. */
export const deliveries = {
  proxies: described(
    z.array(z.object({ name: z.string(), status: z.literal('pending') })),
    'reverse proxies that are purged in the background',
  ),
  warning: described(z.optional(z.string()), 'why they are not purged for now'),
}

export type Deliveries = z.output<z.ZodMiniObject<typeof deliveries>>

/** Lists the configured reverse proxies, with a warning if no worker is running that could purge them. */
export async function describeDeliveries(app: App): Promise<Deliveries> {
  const proxies = app.config.reverseProxies.map(({ name }) => ({ name, status: 'pending' as const }))
  if (proxies.length === 0) return { proxies }
  const [{ hasWorkerFor }, { deliverType }] = await Promise.all([
    import('../queue/statistics.ts'),
    import('../purge/deliver/message.ts'),
  ])
  const { db } = await app.records()
  if (await hasWorkerFor(db, deliverType, Date.now())) return { proxies }
  const names = proxies.map(({ name }) => name).join(', ')
  return {
    proxies,
    warning: `No worker is running, so ${names} will not be purged. Start pagecache messenger:consume async, or serve without --no-workers.`,
  }
}

/** Omits the fields if no reverse proxy is configured, for outputs that are fixed in that case. */
export function optionalDeliveries(deliveries: Deliveries): Partial<Deliveries> {
  return deliveries.proxies.length === 0 ? {} : deliveries
}
