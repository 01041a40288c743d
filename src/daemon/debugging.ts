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
    const [{ readLastPurge }, { fragmentUrls }] = await Promise.all([
      import('../purge/log/last-purge.ts'),
      import('../cache/esi/fragment-urls.ts'),
    ])
    await (await app.purges()).catchUp()
    const found = await readLastPurge((await app.records()).db, url, fragmentUrls(await app.pages(), url))
    if (found === null) return null
    const last = found.purge
    const value = last.tag ?? last.type ?? last.url ?? ''
    return `${last.createdAt} by ${last.kind}${value === '' ? '' : ` ${value}`} from ${last.source}, invalidation ${last.invalidationId}`
  } catch {
    // The page is more important than its history.
    return 'unknown: the purge log cannot be read'
  }
}
