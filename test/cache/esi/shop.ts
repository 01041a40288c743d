import type { CacheSettings } from '../../../src/cache/build.ts'
import { classifyUrl } from '../../../src/cache/classify-url.ts'
import type { Lookup } from '../../../src/cache/lookup.ts'
import type { Fields, OriginRequest, Reply } from '../scripted-origin.ts'
import { openSite, shopUrl, type Site } from '../site.ts'

type Made = Reply | ((request: OriginRequest) => Reply | Promise<Reply>)

/** A shop whose pages have ESI markup, by request target. */
export interface EsiShop extends Site {
  /** Sets the response at a target. */
  page(target: string, reply: Made): void
  /** How often the shop was asked for a target. */
  asked(target: string): number
}

/** Fields of a page with ESI markup. */
export const markup: Fields = { 'Surrogate-Control': 'content="ESI/1.0"' }

/** A page that may be cached. */
export function lasting(body: string, fields: Fields = {}): Reply {
  return { fields: { 'Content-Type': 'text/html', 'Cache-Control': 'public, s-maxage=600', ...fields }, body }
}

/** A cacheable page with ESI markup. */
export function template(body: string, fields: Fields = {}): Reply {
  return lasting(body, { ...markup, ...fields })
}

export function include(src: string, attributes = ''): string {
  return `<esi:include src="${src}"${attributes === '' ? '' : ` ${attributes}`}/>`
}

export async function openEsiShop(
  changes: Partial<CacheSettings> = {},
  options: { writer?: boolean } = {},
): Promise<EsiShop> {
  const site = await openSite({ esi: 'auto', esiPaths: ['/_esi/', '/_fragment'], ...changes }, options)
  const pages = new Map<string, Made>()
  site.answers((request) => {
    const made = pages.get(request.target) ?? {
      status: 404,
      fields: { 'Cache-Control': 'no-store' },
      body: 'not found',
    }
    return typeof made === 'function' ? made(request) : made
  })
  return {
    ...site,
    page: (target, reply) => void pages.set(target, reply),
    asked: (target) => site.origin.requests.filter((request) => request.target === target).length,
  }
}

/** Opens a shop whose page at `/` includes one fragment, the header. */
export async function openHome(): Promise<EsiShop> {
  const shop = await openEsiShop()
  shop.page('/', template(`<${include('/_esi/header')}|home>`, { xkey: 'home', ETag: '"home"' }))
  shop.page('/_esi/header', lasting('menu 1', { xkey: 'menu' }))
  return shop
}

/** The lookup of a page by a warmup. */
export function lookupOf({ cache }: Site, target: string, fields: Record<string, string> = {}): Lookup {
  const classified = classifyUrl(`${shopUrl}${target}`, fields, new AbortController().signal, cache.classifying)
  if (classified?.kind !== 'lookup') throw new Error(`${target} is not looked up`)
  return classified.lookup
}
