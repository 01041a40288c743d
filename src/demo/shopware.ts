import { createHash } from 'node:crypto'

/** Versions of Shopware whose storefronts differ for a cache. */
export const shopwareVersions = ['6.6', '6.7', '6.8'] as const
export type ShopwareVersion = (typeof shopwareVersions)[number]

/** What Shopware's pages depend on, besides their URL. */
export interface Context {
  /** Customer group; null for guests. */
  group: string | null
  currency: string
  items: number
}

export interface ShopwareOptions {
  version: ShopwareVersion
  /** Client states that must not be served cached pages, up to 6.7 (`shopware.cache.invalidation.http_cache`). */
  states: readonly string[]
}

export const defaultStates = ['logged-in', 'cart-filled'] as const
export const defaultCurrency = 'EUR'

/** The request and the session behind it, as they are when the response is made. */
export interface Exchange {
  method: string
  /** Path below the channel's prefix. */
  path: string
  cookies: ReadonlyMap<string, string>
  context: Context
  /** ID of the session; the cookie is set if the visitor has another one. */
  session: string
  /** The currency that this request has chosen. */
  chosenCurrency?: string
  languageId: string
}

type Fields = Readonly<Record<string, string | readonly string[]>>

export const sessionCookie = 'session-'

/**
 * The cookies that Shopware sets with a response. Up to 6.7 the states come with every response, and the hash with GET and the login;
 * from 6.8 on the hash alone tells contexts apart.
 */
export function shopwareCookies({ version }: ShopwareOptions, exchange: Exchange): string[] {
  const { method, path, cookies, context, session, chosenCurrency } = exchange
  const lines = cookies.get(sessionCookie) === session ? [] : [toCookie(sessionCookie, session)]
  const change = (name: string, wanted: string) => {
    if ((cookies.get(name) ?? '') === encodeURIComponent(wanted)) return
    lines.push(
      wanted === ''
        ? `${name}=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/`
        : toCookie(name, wanted),
    )
  }
  if (chosenCurrency !== undefined && version !== '6.8') change('sw-currency', chosenCurrency)
  if (version !== '6.8') change('sw-states', statesOf(context).join(','))
  if (method === 'GET' || method === 'HEAD' || path === '/account/login')
    change('sw-cache-hash', hashOf(version, context))
  return lines
}

/** The fields of a page that Shopware lets caches store. From 6.8 on, only if the request had the hash of its context. */
export function shopwareCaching(
  { version, states }: ShopwareOptions,
  { cookies, context, languageId }: Exchange,
  page: { cacheControl: string; tags: readonly string[] },
): Fields {
  const shared = { 'cache-control': page.cacheControl, xkey: page.tags.join(' ') }
  if (version !== '6.8') return { ...shared, vary: 'Accept-Encoding', 'sw-invalidation-states': states.join(',') }
  const hash = hashOf(version, context)
  const fields = {
    vary: 'Accept-Encoding, sw-access-key, sw-language-id, sw-currency-id, sw-cache-hash',
    'sw-language-id': languageId,
    'sw-currency-id': idOfCurrency(context.currency),
    ...(hash === '' ? {} : { 'sw-cache-hash': hash }),
  }
  if (hash === (cookies.get('sw-cache-hash') ?? '')) return { ...shared, ...fields }
  return { 'cache-control': personal, ...fields, 'sw-dynamic-cache-bypass': '1' }
}

/** Cache-Control of everything that is for one visitor. */
export const personal = 'no-cache, private'

/** Whether pages include header and footer as fragments, because the cache in front assembles them (ESI/1.0). */
export function rendersFragments(version: ShopwareVersion, capability: string | undefined): boolean {
  return version !== '6.6' && (capability ?? '').includes('ESI/1.0')
}

function statesOf({ group, items }: Context): string[] {
  return [...(group === null ? [] : ['logged-in']), ...(items > 0 ? ['cart-filled'] : [])]
}

/** The hash of a context, equal for all visitors in it; empty for the context of new visitors. */
function hashOf(version: ShopwareVersion, context: Context): string {
  const isUsual = statesOf(context).length === 0 && (version === '6.6' || context.currency === defaultCurrency)
  if (isUsual) return ''
  const parts = [context.group ?? 'guests', context.currency, ...statesOf(context)]
  return createHash('md5').update(parts.join()).digest('hex')
}

function idOfCurrency(currency: string): string {
  return createHash('md5').update(`currency:${currency}`).digest('hex')
}

function toCookie(name: string, value: string): string {
  return `${name}=${encodeURIComponent(value)}; path=/; httponly; samesite=lax`
}

export function readCookies(header: string | undefined): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of (header ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2)
    if (name !== undefined && value !== undefined && !cookies.has(name)) cookies.set(name, value)
  }
  return cookies
}
