import { AdminApi } from './admin-api.ts'
import { createCatalogue, type Catalogue } from './catalogue.ts'
import { createChannels, findChannel, type PublicUrls } from './channel.ts'
import { drawImage } from './image.ts'
import type { CacheInvalidator } from './invalidator.ts'
import { createLayout } from './layout.ts'
import { errorPage, privatePage, sharedPage, type ShopRequest, type ShopResponse } from './response.ts'
import { contextOf, createSessionId, createSessions, type Sessions } from './session.ts'
import {
  personal,
  readCookies,
  rendersFragments,
  sessionCookie,
  shopwareCaching,
  shopwareCookies,
  type Exchange,
  type ShopwareOptions,
} from './shopware.ts'
import { createSite, findPage, toEntityTag, type Site, type SitePage } from './site.ts'
import { createSitemaps, drawRobots } from './sitemap.ts'
import { handleVisitor, type VisitorRequest } from './visitor-routes.ts'
import { labels } from './vocabulary.ts'

export interface StorefrontOptions {
  publicUrls: PublicUrls
  /** Whether a cache is in front of the shop, which serves the script of the popup stages. */
  fronted: boolean
  shopware: ShopwareOptions
  /** Milliseconds since the epoch; ages sessions. */
  clock: () => number
  invalidator: Pick<CacheInvalidator, 'invalidate' | 'sendNoted'>
  /** Bearer token of the admin API; null: the API refuses every request. */
  adminToken: string | null
}

/** Last-Modified of images and sitemaps: fixed, because these never change. */
const builtAt = new Date(Date.UTC(2026, 9, 31)).toUTCString()

/** Decides the order of everything that looks random. */
export const seed = 'harbour and pine'

/** A Shopware shop without its server: turns requests into responses. */
export class Storefront {
  readonly sites: readonly Site[]
  /** How often each page or fragment was rendered for a 200 or 304, by path with prefix and canonical query. */
  readonly rendered = new Map<string, number>()
  readonly #shopware: ShopwareOptions
  readonly #catalogue: Catalogue
  readonly #sitemaps: ReadonlyMap<Site, ReadonlyMap<string, Buffer>>
  readonly #robots: string
  readonly #sessions: Sessions
  readonly #admin: AdminApi

  constructor({ publicUrls, fronted, shopware, clock, invalidator, adminToken }: StorefrontOptions) {
    this.#shopware = shopware
    this.#catalogue = createCatalogue(seed)
    const channels = createChannels(publicUrls)
    this.sites = channels.map((channel) =>
      createSite(channel, createLayout(channel, channels, this.#catalogue, fronted), this.#catalogue),
    )
    this.#sitemaps = new Map(this.sites.map((site) => [site, createSitemaps(site)]))
    this.#robots = drawRobots(this.sites)
    this.#sessions = createSessions(clock)
    this.#admin = new AdminApi({ catalogue: this.#catalogue, invalidator, clock, token: adminToken })
  }

  async handle(request: ShopRequest): Promise<ShopResponse> {
    const { pathname, searchParams } = new URL(request.target, 'http://shop')
    const readOnly = request.method === 'GET' || request.method === 'HEAD'
    if (readOnly && pathname === '/robots.txt')
      return file('text/plain; charset=UTF-8', Buffer.from(this.#robots), 'public, max-age=3600')
    if (readOnly && pathname.startsWith('/media/')) return handleMedia(pathname)
    if (pathname.startsWith('/api/')) return this.#admin.handle(request, pathname)
    const channels = this.sites.map((site) => site.channel)
    const channel = findChannel(channels, request.field('host') ?? '', pathname)
    const site = this.sites.find((each) => each.channel === channel)
    if (site === undefined) return errorPage(404, 'Not Found')
    return this.#handleChannel(request, site, pathname.slice(site.channel.prefix.length) || '/', searchParams)
  }

  #handleChannel(request: ShopRequest, site: Site, path: string, query: URLSearchParams): ShopResponse {
    const { method } = request
    const readOnly = method === 'GET' || method === 'HEAD'
    const session = this.#sessions.find(request.field('cookie'))
    const visit: VisitorRequest = { method, path, form: new URLSearchParams(request.body), site, session }
    const own = handleVisitor(visit, this.#sessions, this.#catalogue)
    if (own !== null) return this.#withCookies(own, this.#toExchange(request, visit))
    if (!readOnly) return errorPage(405, 'Method Not Allowed', { allow: 'GET, HEAD' })
    const sitemap = this.#sitemaps.get(site)?.get(path)
    // Shopware serves gzip sitemaps as plain files, without Content-Encoding.
    if (sitemap !== undefined)
      return {
        ...file(path.endsWith('.gz') ? 'application/octet-stream' : 'application/xml', sitemap, 'public, max-age=300'),
        kind: 'sitemap',
      }
    const exchange = this.#toExchange(request, visit)
    const page = site.fragments.get(path) ?? findPage(site, path, query)
    if (page === null) return this.#withCookies(notFound(site, exchange), exchange)
    this.#countRendering(site, page)
    return this.#withCookies(this.#toPage(request, page, exchange), exchange)
  }

  /** A page, with header and footer as fragments where the cache in front assembles them. */
  #toPage(request: ShopRequest, page: SitePage, exchange: Exchange): ShopResponse {
    const { version } = this.#shopware
    const asFragments = page.isWhole && rendersFragments(version, request.field('surrogate-capability'))
    const body = page.render(exchange.context, asFragments)
    // From 6.7 on, the menu is a request of its own, and a page has the tags of its main request alone.
    const tags = version !== '6.6' && page.isWhole ? page.tags.filter((tag) => tag !== 'navigation') : page.tags
    return sharedPage(body, page.type, {
      ...shopwareCaching(this.#shopware, exchange, { ...page, tags }),
      ...(asFragments && { 'surrogate-control': 'content="ESI/1.0"' }),
      ...(page.validated && { etag: toEntityTag(body), 'last-modified': page.updatedAt.toUTCString() }),
    })
  }

  #toExchange(request: ShopRequest, visit: VisitorRequest): Exchange {
    const cookies = readCookies(request.field('cookie'))
    const { method, path, site, session, chosenCurrency } = visit
    return {
      method,
      path,
      cookies,
      context: contextOf(session),
      // No session is stored for a visitor's first pages.
      session: session?.id ?? (path === '/account/logout' ? null : cookies.get(sessionCookie)) ?? createSessionId(),
      languageId: site.channel.languageId,
      ...(chosenCurrency !== undefined && { chosenCurrency }),
    }
  }

  #withCookies(response: ShopResponse, exchange: Exchange): ShopResponse {
    const cookies = shopwareCookies(this.#shopware, exchange)
    return cookies.length === 0 ? response : { ...response, headers: { ...response.headers, 'set-cookie': cookies } }
  }

  #countRendering(site: Site, page: SitePage): void {
    const key = site.channel.prefix + page.path
    this.rendered.set(key, (this.rendered.get(key) ?? 0) + 1)
  }
}

function notFound(site: Site, { context }: Exchange): ShopResponse {
  const title = labels[site.channel.language].notFound
  const sheet = { title, description: title, canonical: null, pageType: null, body: `<h1>${title}</h1>` }
  const page = privatePage(site.layout.page(sheet, context, false), { 'cache-control': personal }, 404)
  return { ...page, kind: 'cms' }
}

function handleMedia(path: string): ShopResponse {
  const [, name = '', extension = ''] = /^\/media\/([a-z0-9-]{1,80})\.(\w+)$/.exec(path) ?? []
  const image = name === '' ? null : drawImage(name, extension)
  if (image === null) return errorPage(404, 'Not Found')
  const answer = file(image.contentType, image.body, 'public, max-age=604800')
  return { ...answer, headers: { ...answer.headers, etag: image.etag } }
}

function file(contentType: string, body: Buffer, cacheControl: string): ShopResponse {
  return {
    status: 200,
    headers: { 'content-type': contentType, 'cache-control': cacheControl, 'last-modified': builtAt },
    body,
    kind: 'file',
  }
}
