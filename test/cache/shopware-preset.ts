import { parse } from 'zod/mini'
import { onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import { withPreset } from '../../src/config/presets.ts'
import { configSchema } from '../../src/config/schema.ts'
import { openSite } from './site.ts'
import type { Fields, OriginRequest, Reply } from './scripted-origin.ts'

/** The settings of `shop: shopware`, with changes as in the file. */
export function shopwareSettings(cache: Record<string, unknown> = {}): Partial<CacheSettings> {
  const { grace, emptyPaths, assets, variants, browser, ignoreQuery, bypass } = parse(
    configSchema,
    withPreset({ shop: 'shopware', cache }),
  ).cache
  return { grace, emptyPaths, assets, variants, browser, ignoreQuery, bypass }
}

/** A site of a Shopware shop whose response bodies are numbered. */
export async function openShopware(
  answers: Fields | ((request: OriginRequest) => Reply),
  settings: Record<string, unknown> = {},
) {
  const site = await openSite(shopwareSettings(settings))
  onTestFinished(() => site.close())
  let count = 0
  const reply = typeof answers === 'function' ? answers : () => ({ fields: answers })
  site.answers((request) => ({ body: `page ${++count}`, ...reply(request) }))
  return {
    site,
    get: (target: string, cookie: string | null = null, fields: Fields = {}) =>
      site.visit(target, { fields: { ...fields, ...(cookie === null ? {} : { Cookie: cookie }) } }),
    requests: site.origin.requests,
  }
}

/** What the shop sends with a page that everyone may see. */
export const shared = { 'Cache-Control': 'public, s-maxage=7200', 'Content-Type': 'text/html' }
