import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { errorPage, sendResponse, sharedPage, privatePage, type ShopResponse } from './response.ts'
import { createCatalogue, type Catalogue } from './catalogue.ts'
import { createChannels, findChannel, type PublicUrls, type ShopChannel } from './channel.ts'
import { drawImage } from './image.ts'
import { createLatency } from './latency.ts'
import { createLayout } from './layout.ts'
import {
  createSessions,
  firstCookie,
  hasSessionCookie,
  statesOf,
  toVisitor,
  type Session,
  type Sessions,
} from './session.ts'
import { createSite, findPage, toEntityTag, type Site, type SitePage } from './site.ts'
import { createSitemaps, drawRobots } from './sitemap.ts'
import { handleVisitor } from './visitor-routes.ts'
import { labels } from './vocabulary.ts'

export interface ShopOptions {
  port?: number
  host?: string
  /** Public URLs behind a cache. Defaults to the shop's own address, German under /de. */
  publicUrls?: PublicUrls
  /** Whether a cache is in front of the shop, which serves the script of the popup stages. */
  fronted?: boolean
  /** `off` responds as fast as possible, for tests and benchmarks. */
  latency?: 'on' | 'off'
  /** Milliseconds since the epoch; ages sessions. */
  clock?: () => number
}

interface ShopStats {
  requests: number
  /** How often each page was rendered for a 200 or 304, by path with prefix and canonical query. */
  rendered: ReadonlyMap<string, number>
  inFlight: number
}

export interface DemoShop {
  /** The shop's own address. */
  url: string
  channels: readonly (ShopChannel & { pages: readonly SitePage[] })[]
  stats(): ShopStats
  close(): Promise<void>
}

interface Shop {
  catalogue: Catalogue
  sites: readonly Site[]
  sitemaps: ReadonlyMap<Site, ReadonlyMap<string, Buffer>>
  robots: string
  sessions: Sessions
  rendered: Map<string, number>
}

/** Last-Modified of images and sitemaps: fixed, because the shop's data never changes. */
const builtAt = new Date(Date.UTC(2026, 9, 31)).toUTCString()
const maxFormBytes = 16_384
const seed = 'harbour and pine'

/** Starts the demo shop on a loopback port (0: any free one). Its content is the same at every start. */
export async function startShop(options: ShopOptions = {}): Promise<DemoShop> {
  const server = createServer()
  const url = await listen(server, options.port ?? 0, options.host ?? '127.0.0.1')
  const shop = createShop(
    options.publicUrls ?? { en: url, de: `${url}/de` },
    options.fronted ?? false,
    options.clock ?? Date.now,
  )
  const latency = options.latency === 'off' ? () => 0 : createLatency(seed)
  const ending = new AbortController()
  let requests = 0
  let inFlight = 0

  server.on('request', (request, response) => {
    requests += 1
    inFlight += 1
    response.once('close', () => void (inFlight -= 1))
    handleRequest(shop, request)
      .then(async (answer) => {
        const pause = latency(answer.kind, inFlight)
        if (pause > 0) await wait(pause, undefined, { signal: ending.signal })
        sendResponse(request, response, answer)
      })
      .catch(() => response.destroy())
  })

  return {
    url,
    channels: shop.sites.map((site) => ({ ...site.channel, pages: [...site.pages.values()] })),
    stats: () => ({ requests, rendered: shop.rendered, inFlight }),
    close() {
      ending.abort()
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function createShop(publicUrls: PublicUrls, fronted: boolean, clock: () => number): Shop {
  const catalogue = createCatalogue(seed)
  const channels = createChannels(publicUrls)
  const sites = channels.map((channel) =>
    createSite(channel, createLayout(channel, channels, catalogue, fronted), catalogue),
  )
  const sitemaps = new Map(sites.map((site) => [site, createSitemaps(site)]))
  return { catalogue, sites, sitemaps, robots: drawRobots(sites), sessions: createSessions(clock), rendered: new Map() }
}

async function listen(server: Server, port: number, host: string): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return `http://${host}:${(server.address() as AddressInfo).port}`
}

async function handleRequest(shop: Shop, request: IncomingMessage): Promise<ShopResponse> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop')
  const method = request.method ?? 'GET'
  const readOnly = method === 'GET' || method === 'HEAD'
  if (readOnly && pathname === '/robots.txt')
    return file('text/plain; charset=UTF-8', Buffer.from(shop.robots), 'public, max-age=3600')
  if (readOnly && pathname.startsWith('/media/')) return handleMedia(pathname)

  const channel = findChannel(
    shop.sites.map((site) => site.channel),
    request.headers.host ?? '',
    pathname,
  )
  const site = shop.sites.find((each) => each.channel === channel)
  if (site === undefined) return errorPage(404, 'Not Found')
  const path = pathname.slice(site.channel.prefix.length) || '/'
  const form = readOnly ? new URLSearchParams() : await readForm(request)
  if (form === null) return errorPage(413, 'Content Too Large')
  const session = shop.sessions.find(request.headers.cookie)
  const own = handleVisitor({ method, path, form, site, session }, shop.sessions, shop.catalogue)
  if (own !== null) return own
  if (!readOnly) return errorPage(405, 'Method Not Allowed', { allow: 'GET, HEAD' })

  const sitemap = shop.sitemaps.get(site)?.get(path)
  // Shopware serves gzip sitemaps as plain files, without Content-Encoding.
  if (sitemap !== undefined)
    return {
      ...file(path.endsWith('.gz') ? 'application/octet-stream' : 'application/xml', sitemap, 'public, max-age=300'),
      kind: 'sitemap',
    }
  const page = findPage(site, path, searchParams)
  if (page === null) return notFound(site, session)
  countRendering(shop, site, page)
  return handlePage(page, session, hasSessionCookie(request.headers.cookie))
}

/** Visitors who are logged in or have a basket get a private page, all others the cacheable one. */
function handlePage(page: SitePage, session: Session | null, knownVisitor: boolean): ShopResponse {
  const body = page.render(toVisitor(session))
  if (statesOf(session).length > 0)
    return { ...privatePage(body, { 'cache-control': 'private, no-cache' }), kind: page.type }
  return sharedPage(body, page.type, {
    'cache-control': page.cacheControl,
    xkey: page.tags.join(' '),
    'sw-invalidation-states': 'logged-in,cart-filled',
    ...(page.validated ? { etag: toEntityTag(body), 'last-modified': page.updatedAt.toUTCString() } : {}),
    ...(knownVisitor ? {} : { 'set-cookie': [firstCookie()] }),
  })
}

function notFound(site: Site, session: Session | null): ShopResponse {
  const title = labels[site.channel.language].notFound
  const sheet = { title, description: title, canonical: null, pageType: null, body: `<h1>${title}</h1>` }
  const page = privatePage(site.layout(sheet, toVisitor(session)), { 'cache-control': 'private, no-cache' }, 404)
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

function countRendering(shop: Shop, site: Site, page: SitePage): void {
  const key = site.channel.prefix + page.path
  shop.rendered.set(key, (shop.rendered.get(key) ?? 0) + 1)
}

/** Reads the form fields of a POST; null if they are too large. */
async function readForm(request: IncomingMessage): Promise<URLSearchParams | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxFormBytes) return null
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
}
