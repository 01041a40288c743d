import type { App } from '../app.ts'
import type { Config, ReverseProxy } from '../config/schema.ts'
import type { DeliverySetup } from '../purge/deliver/open-delivery.ts'
import type { Handler } from '../queue/queue.ts'

/** A healthy, unloaded proxy answers within this time (milliseconds). */
const slowAfter = 250

/** Makes the handler that delivers purges to the configured reverse proxies. */
export async function makeDeliver(app: App): Promise<Handler> {
  const [{ openDelivery }, { db }, cluster] = await Promise.all([
    import('../purge/deliver/open-delivery.ts'),
    app.records(),
    app.purgeCluster(),
  ])
  return openDelivery(deliverySetup(app.config), { db, pages: () => app.pages(), cluster })
}

export function deliverySetup({ reverseProxies, salesChannels, purge }: Config): DeliverySetup {
  const origins = new Set(salesChannels.map((channel) => new URL(channel.origin).origin))
  return {
    proxies: reverseProxies.map(({ name, url }) => ({ name, url })),
    upstream: reverseProxies.filter((proxy) => isUpstream(proxy, origins)).map(({ name }) => name),
    settings: {
      timeout: purge.timeout,
      retryFor: purge.retryFor,
      everythingAbove: purge.everythingAbove,
      settle: purge.settleTime,
      slowAfter,
    },
  }
}

function isUpstream({ url, position }: ReverseProxy, origins: ReadonlySet<string>): boolean {
  return position === 'auto' ? origins.has(new URL(url).origin) : position === 'behind'
}
