import type { App } from '../app.ts'
import type { ReverseProxy } from '../config/schema.ts'
import { realTiming } from '../lib/timing.ts'
import { removeRefetched } from '../purge/remove-refetched.ts'
import type { Handler } from '../queue/queue.ts'

/** A healthy, unloaded proxy answers within this time (milliseconds). */
const slowAfter = 250

/** Makes the handler that delivers purges to the configured reverse proxies. */
export async function makeDeliver(app: App): Promise<Handler> {
  const { deliverHandler, resumeDeliveries } = await import('../purge/deliver/deliver.ts')
  const { reverseProxies, salesChannels, purge } = app.config
  const origins = new Set(salesChannels.map((channel) => new URL(channel.origin).origin))
  const upstream = new Set(reverseProxies.filter((proxy) => isUpstream(proxy, origins)).map((proxy) => proxy.name))
  const { db } = await app.records()
  await resumeDeliveries(
    { db, now: Date.now },
    reverseProxies.map(({ name }) => name),
  )
  return deliverHandler({
    db,
    now: Date.now,
    random: Math.random,
    timing: realTiming,
    proxies: reverseProxies,
    settings: {
      timeout: purge.timeout,
      retryFor: purge.retryFor,
      everythingAbove: purge.everythingAbove,
      settle: purge.settleTime,
      slowAfter,
    },
    onDelivered: async (proxy, delivered) => {
      if (upstream.has(proxy)) await removeRefetched(await app.pages(), delivered)
    },
  })
}

function isUpstream({ url, position }: ReverseProxy, origins: ReadonlySet<string>): boolean {
  return position === 'auto' ? origins.has(new URL(url).origin) : position === 'behind'
}
