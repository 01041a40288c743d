import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type PublicUrls, type ShopChannel } from './channel.ts'
import { VarnishGateway } from './gateway.ts'
import { CacheInvalidator } from './invalidator.ts'
import { createLatency } from './latency.ts'
import { errorPage, sendResponse, type ShopResponse } from './response.ts'
import { defaultStates, type ShopwareVersion } from './shopware.ts'
import type { SitePage } from './site.ts'
import { seed, Storefront } from './storefront.ts'

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
  /** The version whose storefront it imitates; default: 6.7. */
  version?: ShopwareVersion
  /** Client states that must not be served cached pages; default: those of Shopware. */
  states?: readonly string[]
  /** URLs of the reverse proxies that it purges. */
  reverseProxies?: readonly string[]
  /** How long it gathers tags before it purges them, in milliseconds; null: until the admin API asks for it. */
  purgeInterval?: number | null
  adminToken?: string | null
  onError?: (message: string) => void
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

const maxBodyBytes = 16_384

/** Starts the demo shop on a loopback port (0: any free one). Its content is the same at every start. */
export async function startShop(options: ShopOptions = {}): Promise<DemoShop> {
  const server = createServer()
  const url = await listen(server, options.port ?? 0, options.host ?? '127.0.0.1')
  const gateway = new VarnishGateway({ hosts: options.reverseProxies ?? [], onError: options.onError ?? (() => {}) })
  const invalidator = new CacheInvalidator(gateway, options.purgeInterval ?? null)
  const storefront = new Storefront({
    publicUrls: options.publicUrls ?? { en: url, de: `${url}/de` },
    fronted: options.fronted ?? false,
    shopware: { version: options.version ?? '6.7', states: options.states ?? defaultStates },
    clock: options.clock ?? Date.now,
    invalidator,
    adminToken: options.adminToken ?? null,
  })
  const latency = options.latency === 'off' ? () => 0 : createLatency(seed)
  const ending = new AbortController()
  let requests = 0
  let inFlight = 0

  server.on('request', (request, response) => {
    requests += 1
    inFlight += 1
    response.once('close', () => void (inFlight -= 1))
    handle(storefront, request)
      .then(async (answer) => {
        const pause = latency(answer.kind, inFlight)
        if (pause > 0) await wait(pause, undefined, { signal: ending.signal })
        sendResponse(request, response, answer)
      })
      .catch(() => response.destroy())
  })

  return {
    url,
    channels: storefront.sites.map((site) => ({ ...site.channel, pages: [...site.pages.values()] })),
    stats: () => ({ requests, rendered: storefront.rendered, inFlight }),
    close() {
      ending.abort()
      invalidator.close()
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
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

async function handle(storefront: Storefront, request: IncomingMessage): Promise<ShopResponse> {
  const method = request.method ?? 'GET'
  const body = method === 'GET' || method === 'HEAD' ? '' : await readBody(request)
  if (body === null) return errorPage(413, 'Content Too Large')
  const field = (name: string) => {
    const value = request.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }
  return storefront.handle({ method, target: request.url ?? '/', field, body })
}

/** Reads the body of a request; null if it is too large. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBodyBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
