import type { App } from '../app.ts'
import { describeVisit } from '../cache/describe-visit.ts'
import type { StorefrontCache } from '../cache/storefront-cache.ts'
import type { Debugging } from '../http/front/debug.ts'
import { defaultTypeRules, ruleFinder, type TypeRule } from '../pages/type.ts'

/** What answers `X-Pagecache-Debug`. */
export function debuggingOf(app: App, cache: StorefrontCache, judge: Debugging['judge']): Debugging {
  const findRule = ruleFinder([...(app.config.cache.types as TypeRule[]), ...defaultTypeRules])
  return {
    judge,
    describe: (visit, tags) => describeVisit(visit, tags, cache, findRule, app.now()),
    lastPurge: (url) => lastPurge(app, url),
  }
}

async function lastPurge(app: App, url: string): Promise<string | null> {
  try {
    const { readUrlFlow } = await import('../purge/log/purge-log.ts')
    await (await app.purges()).catchUp()
    const { items } = await readUrlFlow((await app.records()).db, url, { limit: 1, offset: 0 })
    const [last] = items
    if (last === undefined) return null
    const value = last.tag ?? last.type ?? last.url ?? ''
    return `${last.createdAt} by ${last.kind}${value === '' ? '' : ` ${value}`} from ${last.source}, invalidation ${last.invalidationId}`
  } catch {
    // The page is more important than its history.
    return 'unknown: the purge log cannot be read'
  }
}
