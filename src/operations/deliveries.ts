import * as z from 'zod/mini'
import type { App } from '../app.ts'
import { described } from './fields.ts'

/** What every operation that purges says of the reverse proxies. */
export const deliveries = {
  proxies: described(
    z.array(z.object({ name: z.string(), status: z.literal('pending') })),
    'the reverse proxies that are told in the background',
  ),
  warning: described(z.optional(z.string()), 'why they will not be told for now'),
}

export type Deliveries = z.output<z.ZodMiniObject<typeof deliveries>>

/** The configured reverse proxies, and a warning where no worker runs that could tell them. */
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
    warning: `No worker runs: ${names} will not be purged until one does. Start pagecache messenger:consume async, or serve without --no-workers.`,
  }
}

/** For answers whose fields are fixed where no reverse proxy is configured. */
export function givenDeliveries(given: Deliveries): Partial<Deliveries> {
  return given.proxies.length === 0 ? {} : given
}
