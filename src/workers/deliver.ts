import type { App } from '../app.ts'
import type { ReverseProxy } from '../config/schema.ts'
import { realTiming } from '../lib/timing.ts'
import type { PageStore } from '../pages/page-store.ts'
import type { Pending } from '../purge/deliver/plan.ts'
import type { Handler } from '../queue/queue.ts'

/** A proxy that has nothing else on its mind answers within this (milliseconds). */
const slowAfter = 250

/** The handler that tells the configured reverse proxies of purges. */
export async function makeDeliver(app: App): Promise<Handler> {
  const { deliverHandler, resumeDeliveries } = await import('../purge/deliver/deliver.ts')
  const { reverseProxies, salesChannels, purge } = app.config
  const origins = new Set(salesChannels.map((channel) => new URL(channel.origin).origin))
  const behind = new Set(reverseProxies.filter((proxy) => isBehind(proxy, origins)).map((proxy) => proxy.name))
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
      if (behind.has(proxy)) await takeAgain(await app.pages(), delivered)
    },
  })
}

function isBehind({ url, position }: ReverseProxy, origins: ReadonlySet<string>): boolean {
  return position === 'auto' ? origins.has(new URL(url).origin) : position === 'behind'
}

/** A proxy behind us may have answered with an old page between our purge and its own: what came here since goes again. */
async function takeAgain(pages: PageStore, delivered: readonly Pending[] | null): Promise<void> {
  if (delivered === null) return void (await pages.remove({ kind: 'all' }))
  const { toMatcher } = await import('../purge/pattern.ts')
  for (const { kind, key } of delivered)
    if (kind === 'pattern') await pages.remove({ kind: 'matching', matches: toMatcher(key!) })
  for (const soft of [false, true]) {
    const some = delivered.filter((purge) => purge.soft === soft)
    const [urls, tags] = [keysOf(some, ['url']), keysOf(some, ['tag', 'entity'])]
    if (urls.length > 0) await pages.remove({ kind: 'urls', urls }, { soft })
    if (tags.length > 0) await pages.remove({ kind: 'tags', tags }, { soft })
  }
}

function keysOf(purges: readonly Pending[], kinds: readonly Pending['kind'][]): string[] {
  return [...new Set(purges.filter(({ kind }) => kinds.includes(kind)).map(({ key }) => key!))]
}
