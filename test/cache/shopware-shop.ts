import { createHash } from 'node:crypto'
import { cookieChanges } from '../../src/cache/set-cookie.ts'
import { parseCookies } from '../../src/cache/fields.ts'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import type { Seen, Site } from './site.ts'

export type Version = '6.6' | '6.7' | '6.8'

interface Session {
  customer: string | null
  items: number
  currency: string
}

const defaultCurrency = 'eur'

/** The context of a session that a page depends on. */
function contextOf({ customer, items, currency }: Session): string {
  const group = customer === null ? 'guests' : customer.split('@')[1]!
  return `${group} in ${currency}${items > 0 ? ', with a basket' : ''}`
}

/**
 * Answers as Shopware's storefront does in these versions: session, states, hash, currency and cache headers. Up to 6.7 the hash comes with
 * GET and the login, the states with every response; from 6.8 on a response names its hash and refuses to be stored if the request had another.
 */
export function shopwareShop(version: Version): (request: OriginRequest) => Reply {
  const sessions = new Map<string, Session>()
  let created = 0
  return ({ method, target, fields }) => {
    const cookies = parseCookies(fields.get('cookie') ?? null)
    const given = cookies.get('session-') ?? ''
    const id = sessions.has(given) ? given : createHash('md5').update(`session ${++created}`).digest('hex')
    const session = sessions.get(given) ?? { customer: null, items: 0, currency: defaultCurrency }
    sessions.set(id, session)
    const path = target.split('?', 1)[0]!
    const value = decodeURIComponent(target.split('=')[1] ?? '')
    if (method === 'POST') act(session, path, value)
    const setCookies = id === given ? [] : [`session-=${id}; path=/; HttpOnly`]
    const change = (name: string, wanted: string) => {
      if ((cookies.get(name) ?? '') === wanted) return
      setCookies.push(wanted === '' ? `${name}=deleted; Max-Age=0; path=/` : `${name}=${wanted}; path=/`)
    }
    if (path === '/checkout/configure' && version !== '6.8') setCookies.push(`sw-currency=${value}; path=/`)
    if (version !== '6.8') change('sw-states', statesOf(session).join(','))
    const hash = needsHash(session, version) ? createHash('md5').update(contextOf(session)).digest('hex') : ''
    if (method === 'GET' || path === '/account/login') change('sw-cache-hash', hash)
    const isPage = method === 'GET' && /^\/(?:p|special)$/.test(path)
    return {
      fields: {
        'Content-Type': 'text/html',
        ...(isPage ? cacheHeaders(version, path, session, hash, cookies.get('sw-cache-hash') ?? '') : personal),
        'Set-Cookie': setCookies,
      },
      body: path === '/widgets/checkout/info' ? `${session.items} items` : `Prices for ${contextOf(session)}`,
    }
  }
}

const personal = { 'Cache-Control': 'no-cache, private' }

function act(session: Session, path: string, value: string): void {
  if (path === '/account/login') session.customer = value
  if (path === '/account/logout') Object.assign(session, { customer: null, items: 0 })
  if (path === '/checkout/add') session.items += 1
  if (path === '/checkout/configure') session.currency = value
}

function statesOf(session: Session): string[] {
  return [...(session.customer === null ? [] : ['logged-in']), ...(session.items > 0 ? ['cart-filled'] : [])]
}

function needsHash(session: Session, version: Version): boolean {
  return statesOf(session).length > 0 || (version !== '6.6' && session.currency !== defaultCurrency)
}

function cacheHeaders(
  version: Version,
  path: string,
  session: Session,
  hash: string,
  given: string,
): Record<string, string> {
  const shared = { 'Cache-Control': 'public, s-maxage=7200', xkey: 'product-1 navigation' }
  if (version === '6.8') {
    const context = {
      Vary: 'sw-access-key, sw-language-id, sw-currency-id, sw-cache-hash',
      'sw-currency-id': session.currency,
      'sw-language-id': 'en',
      ...(hash === '' ? {} : { 'sw-cache-hash': hash }),
    }
    return hash === given ? { ...shared, ...context } : { ...personal, ...context, 'sw-dynamic-cache-bypass': '1' }
  }
  const excluded = path === '/special' ? ['logged-in', 'cart-filled'] : []
  if (excluded.some((state) => statesOf(session).includes(state))) return personal
  return { ...shared, 'sw-invalidation-states': excluded.join(',') }
}

/** A browser with a cookie jar. */
export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #site: Site

  constructor(site: Site, cookies: Record<string, string> = {}) {
    this.#site = site
    for (const [name, value] of Object.entries(cookies)) this.cookies.set(name, value)
  }

  async get(target: string): Promise<Seen> {
    return this.#send('GET', target)
  }

  /** Changes the session, and requests what the storefront's script does then. */
  async post(target: string): Promise<void> {
    await this.#send('POST', target)
    await this.#send('GET', '/checkout/offcanvas')
  }

  async #send(method: string, target: string): Promise<Seen> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await this.#site.visit(target, {
      method,
      fields: cookie === '' ? {} : { Cookie: cookie },
      ...(method === 'POST' && { body: 'x' }),
    })
    for (const [name, value] of cookieChanges(answer.headers, this.#site.now())) {
      if (value === null) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return answer
  }
}
