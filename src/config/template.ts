import { randomUUID } from 'node:crypto'

/** `server.port` where nothing is configured. */
export const defaultPort = 8080

/**
 * The configuration file that `pagecache init` writes: every key with its default, commented out, and why one
 * would change it. A test holds it against the schema.
 *
 * @param channel where the shop is; without it the sales channel is an example that is commented out
 * @param options `port`: written instead of the default
 */
export function configTemplate(
  channel: { url: string; origin: string } | null,
  { port = null, id = randomUUID() }: { port?: number | null; id?: string } = {},
): string {
  return `# pagecache configuration. What is commented out shows the default.
# Every key: docs/configuration.md. What is in effect, and why: pagecache config:show

server:
  # 0.0.0.0 or :: to be reached from other machines.
  # host: 127.0.0.1
  ${port === null || port === defaultPort ? `# port: ${defaultPort}` : `port: ${port}`}
  # A Unix socket to listen on instead, for a web server on this machine.
  # socket: null
  # Further host names by which clients reach the API, /metrics and /admin.
  # names: []
  # How many processes answer requests; one more works on the queue then.
  # processes: 1
  # At its end the daemon says for so long that it is not ready, and gives requests in hand so long.
  # stopDelay: 0s
  # stopGrace: 10s

log:
  # auto: lines for a terminal, else JSON.
  # format: auto
  # A line for each request; without addresses, queries and anything else of the visitor.
  # access: false

# Addresses or networks whose X-Forwarded-* headers are believed: load balancers, TLS terminators.
# trustedProxies: []

${channelTemplate(channel, id)}
# Reverse proxies that are purged too, in the background, until each has answered.
# reverseProxies:
#   - { name: varnish-1, type: varnish, url: http://127.0.0.1:6081 }

# Who may send PURGE and BAN.
# purgers: [127.0.0.0/8, "::1"]

purge:
  # true: purges by tag only mark pages as stale.
  # softPurge: false
  # How long a reverse proxy may take to answer, and for how long one that does not is tried again.
  # timeout: 5s
  # retryFor: 1d
  # More purges than this that wait for one proxy become one that empties it.
  # everythingAbove: 10000
  # How long a proxy that was away is given to finish what it was fetching, before it is purged once more.
  # settleTime: 1s

cache:
  # backend: filesystem
  # compression: true
  # Bodies kept in memory, and the limit on disk, where the least recently used pages go first. null: 10GB, or a tenth of the
  # space that is free for them at the start where that is less.
  # memory: 128MB
  # maxSize: null
  # Larger responses pass through without being stored.
  # maxPageSize: 16MB
  # Variants of one URL that are kept.
  # maxVariants: 64
  # Lifetime of responses that say nothing about it (0s: the heuristics of RFC 9111).
  # defaultTtl: 0s
  # Which pages are products, categories, cms, listings, buybox, before the built-in rules:
  # - { type: products, path: "/p/*" }, - { type: listings, header: "x-page-type: listing" }
  # types: []
  # What makes two visitors get two versions of a page.
  # freeCookies: those of the cookies that depend on nothing in a session; the shop need not have set them.
  # variants: { cookies: [sw-cache-hash, sw-currency], headers: [], freeCookies: [] }
  # What is never answered from the cache.
  # bypass: { cookies: [], paths: [/checkout, /account, /admin, /api] }
  # What a successful POST drops: off (Shopware, which purges by itself), uri: its own page, rfc: what Location names, too.
  # invalidateOnUnsafe: rfc
  # Parameters that do not change a page, beside the usual marketing ones.
  # ignoreQuery: []

# How long the shop may take before a visitor gets an error or a stale page.
origin:
  # connectTimeout: 5s
  # headersTimeout: 1m
  # idleTimeout: 1m
  # totalTimeout: 5m

warmup:
  # concurrency: 4
  # requestsPerSecond: null
  # timeout: 30s
  # retries: 3
  # Warm what was purged again, so long after the purge; null: do not.
  # afterPurge: null
  # Further versions to warm: what a visitor with these cookies or headers gets.
  # - { cookies: { sw-currency: EUR } }
  # variants: []

retention:
  # reverseProxyLogDays: 30
  # invalidationLogDays: 30
  # warmupDays: 14

auth:
  # builtin: pagecache issues its tokens; shop: the shop's admin API does.
  # mode: builtin
  # tokenLifetime: 10m

# Daemons that commands can run on: pagecache cache:stats --profile staging
# profiles:
#   staging: { server: "https://staging.example:8080", clientId: 0190c0de-0000-7000-8000-000000000002, clientSecretFile: /etc/pagecache/staging.secret }

stages:
  # The header in which the shop names the logged-in customer.
  # customerHeader: null
  # A signed token (JWT) in which the shop names the logged-in customer: in a cookie or a header, and the secret or the public key
  # with which it is checked. Its claim, and what iss and aud have to say; null: anything. algorithm null: HS256, or what the key is for.
  # customerToken: { cookie: null, header: null, secretFile: null, publicKeyFile: null, algorithm: null, claim: sub, issuer: null, audience: null }
  # What happens to a deleted customer's events: anonymize or remove.
  # customerDeletion: anonymize
  # Whether an event without an Origin is refused too.
  # requireOrigin: false
  # Requests a second; null: no limit.
  # rateLimit: { perAddress: 50, perStage: 2000, total: 5000 }
`
}

function channelTemplate(channel: { url: string; origin: string } | null, id: string): string {
  const { url, origin } = channel ?? { url: 'http://shop.example', origin: 'http://127.0.0.1:8000' }
  const lines = [
    'salesChannels:',
    `  - id: ${id}`,
    '    name: Storefront',
    '    # What visitors type: scheme, host, path prefix.',
    `    url: ${JSON.stringify(url)}`,
    '    # Where the shop answers; it is sent the public Host.',
    `    origin: ${JSON.stringify(origin)}`,
    '    # None: the Sitemap lines of robots.txt, then /sitemap.xml.',
    '    # sitemaps: [/sitemap.xml]',
  ]
  const text = channel ? lines : ['# One entry for each storefront.', ...lines.map((line) => `# ${line}`)]
  return `${text.join('\n')}\n`
}
