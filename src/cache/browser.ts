import type { HeaderPair } from '../pages/page.ts'
import { parseDirectives } from './cache-control.ts'
import { pathsBelow } from './bypass.ts'
import { fieldValue } from './fields.ts'

/** What browsers, and caches in front of the daemon, are told about pages: what the shop says, or not to store them. */
export type BrowserCaching = 'pass' | 'no-store'

/** Responses of Shopware's Store API are for applications, which cache them as the shop says. */
const storeApi = '/store-api'

/** Matches the paths whose responses only this cache may store, because no purge reaches a browser. */
export function hiddenPaths(options: {
  browser: BrowserCaching
  assets: readonly string[]
}): (path: string) => boolean {
  const exempt = pathsBelow([...options.assets, storeApi])
  return options.browser === 'pass' ? () => false : (path) => !exempt(path)
}

/** Fields that allow a cache of any kind to store a response. */
export const allowing = /^(?:cache-control|expires|pragma|(?:[\w-]+-)?cdn-cache-control|edge-control|x-accel-expires)$/i

/** The fields of a response that must not be stored. `private` and `no-store` of the shop remain. */
export function hidden(headers: readonly HeaderPair[]): HeaderPair[] {
  const directives = parseDirectives(fieldValue(headers, 'cache-control'))
  const isPersonal = directives.some(({ name }) => name === 'private' || name === 'no-store')
  const kept = headers.filter(([name]) => !allowing.test(name) || (isPersonal && /^cache-control$/i.test(name)))
  return isPersonal ? kept : [...kept, ['Cache-Control', 'no-store']]
}
