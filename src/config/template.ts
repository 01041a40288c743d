import { randomUUID } from 'node:crypto'
import { writeCacheDefault, type Shop } from './presets.ts'

/** Default of `server.port`. */
export const defaultPort = 8080

/**
 * Generates the file that `pagecache init` writes: every key with its default, commented out, and its purpose. A test compares it
 * with the schema.
 *
 * @param channel URLs of the shop; null for a commented-out example
 * @param options `port`: `server.port` to write instead of the default; `shop`: whose defaults the file shows; `schema`: URL of the JSON Schema for editors; `ttl`: `cache.defaultTtl`
 */
export function configTemplate(
  channel: { url: string; origin: string } | null,
  {
    port = null,
    id = randomUUID(),
    shop = 'plain',
    schema = null,
    ttl = null,
  }: { port?: number | null; id?: string; shop?: Shop; schema?: string | null; ttl?: string | null } = {},
): string {
  const initial = (key: string, plain: string) => writeCacheDefault(shop, key, plain)
  return `${schema === null ? '' : `# yaml-language-server: $schema=${schema}\n`}# pagecache configuration. Commented-out lines show the defaults.
# All keys: docs/configuration.md. Effective values and their sources: pagecache config:show

server:
  # Address to listen on; 0.0.0.0 or :: accept connections from other machines.
  # host: 127.0.0.1
  ${port === null || port === defaultPort ? `# port: ${defaultPort}` : `port: ${port}`}
  # Unix socket to listen on instead, for a web server on this machine.
  # socket: null
  # Additional host names for the API, /metrics and /admin.
  # names: []
  # true: each connection must begin with a PROXY protocol header from an address in trustedProxies.
  # proxyProtocol: false
  # Processes that serve requests; with more than one, another process works on the queue.
  # processes: 1
  # On shutdown: time to report "not ready" first, then time for requests in progress.
  # stopDelay: 0s
  # stopGrace: 10s

log:
  # auto: text on a terminal, JSON otherwise.
  # format: auto
  # Log each request, without addresses, queries or other visitor data.
  # access: false

# Addresses or networks whose X-Forwarded-* headers are trusted: load balancers, TLS terminators.
# trustedProxies: []

# plain or shopware: sets the defaults of cache for this kind of shop.
${shop === 'plain' ? '# shop: plain' : `shop: ${shop}`}

${channelTemplate(channel, id)}
# Reverse proxies that are purged in the background; each purge is retried until acknowledged.
# reverseProxies:
#   - { name: varnish-1, type: varnish, url: http://127.0.0.1:6081 }

# Addresses or networks that may send PURGE and BAN.
# purgers: [127.0.0.0/8, "::1"]

purge:
  # true: purges by tag mark pages as stale instead of removing them.
  # softPurge: false
  # A tag on more than this share of all pages, such as 20%, is purged softly, and its pages are warmed up again; null: never.
  # softAbove: null
  # Response timeout of a reverse proxy, and how long a failed purge is retried.
  # timeout: 5s
  # retryFor: 1d
  # More pending purges than this for one proxy are replaced by a full clear.
  # everythingAbove: 10000
  # After an outage, a proxy is purged again after this time, to catch pages it was still fetching.
  # settleTime: 1s

cache:
  # backend: filesystem
  # compression: true
  # Memory for page bodies, and the limit on disk; the least recently used pages are evicted first.
  # maxSize null: 10GB, or a tenth of the free space at start if that is less.
  # memory: 128MB
  # maxSize: null
  # Larger responses are not stored.
  # maxPageSize: 16MB
  # Stored variants per URL.
  # maxVariants: 64
  # Lifetime of responses without caching headers; 0s: heuristic freshness of RFC 9111.
  ${ttl === null ? '# defaultTtl: 0s' : `defaultTtl: ${ttl}`}
  # Rules for page types (products, categories, cms, listings, buybox), applied before the built-in rules:
  # - { type: products, path: "/p/*" }, - { type: listings, header: "x-page-type: listing" }
  # types: []
  # How long expired and softly purged pages are served while one request renews them, and while the shop fails.
  # grace: ${initial('grace', '0s')}
  # Paths answered with an empty response (204) for visitors without sw-cache-hash and without a filled cart.
  # emptyPaths: ${initial('emptyPaths', '[]')}
  # Path prefixes below which cookies are neither part of the key nor sent to the shop.
  # assets: ${initial('assets', '[]')}
  # Cookies and headers that select a variant of a page; "a | b": the first of the two that a visitor has.
  # map: named classes of visitors in place of a cookie or header with many values, such as
  # { device: { header: user-agent, classes: { mobile: ["*Mobile*", "*Android*"] }, default: desktop } }
  # freeCookies: variant cookies that are independent of the session, so that the shop need not have set them.
  # variants: { cookies: ${initial('variants.cookies', '[]')}, headers: [], freeCookies: [], map: {} }
  # Requests that always bypass the cache.
  # bypass: { cookies: [], paths: [/checkout, /account, /admin, /api] }
  # auto: pages are assembled from fragments (ESI) where the shop asks for it. Fragments must be below one of the paths.
  # esi: ${initial('esi', 'off')}
  # esiPaths: [/_esi/, /_fragment]
  # Pages purged by a successful POST: off (for Shopware, which sends purges), uri (its own page), rfc (the page in Location too).
  # invalidateOnUnsafe: rfc
  # Query parameters that do not affect a page, in addition to common marketing parameters; shopware: the list of Shopware.
  # ignoreQuery: ${initial('ignoreQuery', '[]')}
  # What browsers and CDNs are told about pages: pass (what the shop says) or no-store, because no purge reaches them.
  # browser: ${initial('browser', 'pass')}
  # Redis (6.2 or later) or Valkey in which several machines share the pages that they fetch; needs records.url.
  # shared: { url: null, maxAge: 7d }

# Limits of the shop.
origin:
  # Timeouts; afterwards, visitors get a stale page or an error.
  # connectTimeout: 5s
  # headersTimeout: 1m
  # idleTimeout: 1m
  # totalTimeout: 5m
  # Requests of visitors to one shop at a time. Further ones wait in a queue; afterwards, visitors get a stale page or 503.
  # maxConcurrent: 64
  # queue: 256
  # queueTimeout: 10s

warmup:
  # concurrency: 4
  # requestsPerSecond: null
  # timeout: 30s
  # retries: 3
  # Delay before purged pages are warmed up again; null: never.
  # afterPurge: null
  # Additional variants to warm up, by cookies and headers:
  # - { cookies: { sw-currency: EUR } }
  # variants: []

notify:
  # Receivers of notifications (type json or slack); try them with pagecache notify:test. The URL is never shown or logged.
  # webhooks:
  # - { name: ops, type: json, url: "https://hooks.example/pagecache" }
  # Signs the requests (PAGECACHE_NOTIFY_SECRET).
  # secret: null
  # Notify below this share of hits in 15 minutes, such as 0.7; null: never.
  # hitRatio: null
  # Notify when less disk space is free.
  # diskFree: 2GB
  # Notify of a reverse proxy that is unreachable or behind for this long.
  # proxyAfter: 5m

records:
  # PostgreSQL database (13 or later) for everything that must last: postgres://user:password@host/database. null: a file in var/data.
  # url: null
  # URL without a connection pooler, if url leads through one.
  # listenUrl: null
  # Most connections of a process; its threads have 6 more.
  # pool: 10

cluster:
  # Name of this machine among several that share records.url. null: its host name.
  # node: null
  # Without contact to PostgreSQL: available serves on for a while, strict asks the shop for every page.
  # mode: available
  # How long a node serves without renewed contact. The same on all nodes.
  # lease: 1s
  # How long a node serves in the mode "available" after that.
  # alone: 1m

retention:
  # reverseProxyLogDays: 30
  # invalidationLogDays: 30
  # warmupDays: 14

auth:
  # builtin: pagecache issues the API tokens; shop: the shop's admin API does.
  # mode: builtin
  # tokenLifetime: 10m

# Daemons for the --profile flag: pagecache cache:stats --profile staging
# profiles:
#   staging: { server: "https://staging.example:8080", clientId: 0190c0de-0000-7000-8000-000000000002, clientSecretFile: /etc/pagecache/staging.secret }

# HTML file for visitors while the shop is down (502, 503, 504), with {{status}} and {{requestId}}; null: a built-in page.
# errorPage: null

stages:
  # Request header in which a trusted proxy sends the logged-in customer's ID.
  # customerHeader: null
  # Signed token (JWT) with the logged-in customer's ID, in a cookie or a header, and the secret or public key to verify it.
  # issuer and audience: expected claims; null: any. algorithm null: HS256, or the algorithm of the key.
  # customerToken: { cookie: null, header: null, secretFile: null, publicKeyFile: null, algorithm: null, claim: sub, issuer: null, audience: null }
  # Events of a deleted customer: anonymize or remove.
  # customerDeletion: anonymize
  # Reject events without an Origin header too.
  # requireOrigin: false
  # Requests per second; null: unlimited.
  # rateLimit: { perAddress: 50, perStage: 2000, total: 5000 }
`
}

function channelTemplate(channel: { url: string; origin: string } | null, id: string): string {
  const { url, origin } = channel ?? { url: 'http://shop.example', origin: 'http://127.0.0.1:8000' }
  const lines = [
    'salesChannels:',
    `  - id: ${id}`,
    '    name: Storefront',
    '    # Public URL: scheme, host, path prefix.',
    `    url: ${JSON.stringify(url)}`,
    '    # URL of the shop behind the cache; requests carry the public Host.',
    `    origin: ${JSON.stringify(origin)}`,
    '    # Default: the Sitemap lines of robots.txt, otherwise /sitemap.xml.',
    '    # sitemaps: [/sitemap.xml]',
  ]
  const text = channel ? lines : ['# One entry per storefront.', ...lines.map((line) => `# ${line}`)]
  return `${text.join('\n')}\n`
}
