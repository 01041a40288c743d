import * as z from 'zod/mini'
import { pageTypes } from '../pages/page.ts'
import { maxWarmupConcurrency } from './warmup.ts'
import { shops } from './presets.ts'
import { withDefault } from './value.ts'
import * as value from './values.ts'

/** An optional object of keys with defaults. */
function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.prefault(z.strictObject(shape), {} as never)
}

function list<Item extends z.ZodMiniType>(item: Item, initial: z.input<Item>[] = []) {
  return z.prefault(z.array(item), initial)
}

const salesChannel = z.strictObject({
  id: value.uuid(),
  name: withDefault(value.text('a name of 1 to 200 characters', /^[^\u0000-\u001f]{1,200}$/), 'Storefront'),
  url: value.publicUrl(),
  origin: value.serverUrl(),
  sitemaps: list(value.sitemapLocation()),
})

const reverseProxy = z.strictObject({
  name: value.text('a name of letters, digits, dots, dashes', /^[\w.-]{1,64}$/),
  type: value.oneOf(['varnish']),
  url: value.serverUrl(),
  position: withDefault(value.oneOf(['auto', 'before', 'behind']), 'auto'),
})

/** Assigns a page type by response header (`name` or `name: value`), tag prefix or URL path. */
const typeRule = z
  .strictObject({
    type: value.oneOf(pageTypes),
    header: z.optional(value.text('a header, as name or name: value', /^[\w-]+(?:: ?\S.*)?$/)),
    tag: z.optional(value.text('a tag prefix', /^\S+$/)),
    path: z.optional(value.text('a path, with * as a wildcard', /^[/*]\S*$/)),
  })
  .check(
    z.refine((rule) => [rule.header, rule.tag, rule.path].filter((criterion) => criterion !== undefined).length === 1, {
      error: 'the type with exactly one of header, tag and path',
    }),
  )

const className = value.text('a class of at most 32 letters, digits, dashes and underscores', /^[\w-]{1,32}$/)

/** Assigns visitors to named classes by the value of a cookie or header. */
const classMap = z
  .strictObject({
    header: z.optional(value.headerName()),
    cookie: z.optional(value.cookieName()),
    fromProxy: withDefault(value.flag(), false),
    classes: z.record(
      className,
      z.array(value.text('a pattern of at most 200 characters', /^[^\u0000-\u001f]{1,200}$/)),
    ),
    default: className,
  })
  .check(
    z.refine(({ header, cookie }) => (header === undefined) !== (cookie === undefined), {
      error: 'a map with exactly one of header and cookie',
    }),
    z.refine(({ cookie, fromProxy }) => cookie === undefined || !fromProxy, { error: 'fromProxy with a header only' }),
    z.refine(({ classes }) => Object.values(classes).flat().length <= 200, { error: 'at most 200 patterns in a map' }),
  )

/** Cookies and headers of an additional warmup pass, which are part of the cache key. */
const warmupVariant = z.strictObject({
  cookies: z.prefault(z.record(value.cookieName(), value.text('the value of a cookie', /^[^\s;,"\\]*$/)), {}),
  headers: z.prefault(z.record(value.headerName(), value.text('the value of a header', /^[^\u0000-\u001f]*$/)), {}),
})

/** Signature algorithms of customer tokens: with a shared secret, or with a key pair of the shop. `none` is not allowed. */
const secretAlgorithms = ['HS256', 'HS384', 'HS512'] as const
const keyAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const

/** A signed token in which the shop names the logged-in customer. */
const customerToken = z
  .strictObject({
    cookie: withDefault(value.cookieNameOrNull(), null),
    header: withDefault(value.headerNameOrNull(), null),
    algorithm: withDefault(value.oneOfOrNull([...secretAlgorithms, ...keyAlgorithms]), null),
    secretFile: withDefault(value.textOrNull('the path of a secret file', /^[^\u0000-\u001f]{1,1000}$/), null),
    publicKeyFile: withDefault(value.textOrNull('the path of a public key file', /^[^\u0000-\u001f]{1,1000}$/), null),
    claim: withDefault(value.text('the name of a claim', /^[\x21-\x7e]{1,200}$/), 'sub'),
    issuer: withDefault(value.textOrNull('the expected iss claim', /^[^\u0000-\u001f]{1,1000}$/), null),
    audience: withDefault(value.textOrNull('the expected aud claim', /^[^\u0000-\u001f]{1,1000}$/), null),
  })
  .check(
    z.refine(
      ({ cookie, header, secretFile, publicKeyFile }) => {
        const carriers = [cookie, header].filter((name) => name !== null).length
        const files = [secretFile, publicKeyFile].filter((file) => file !== null).length
        return carriers === files && files <= 1
      },
      {
        error: 'either cookie or header, together with either secretFile or publicKeyFile; or none of them',
      },
    ),
    z.refine(
      ({ algorithm, secretFile, publicKeyFile }) => {
        if (algorithm === null || (secretFile === null && publicKeyFile === null)) return true
        const allowed: readonly string[] = secretFile === null ? keyAlgorithms : secretAlgorithms
        return allowed.includes(algorithm)
      },
      { error: `${secretAlgorithms.join(', ')} with secretFile, or another algorithm with publicKeyFile` },
    ),
  )

/** What operators can be notified of. */
const notifyEvents = ['warmup', 'proxy', 'hit-ratio', 'disk', 'node'] as const

const signingSecret = () => value.textOrNull('a secret of at least 16 characters', /^[\x21-\x7e]{16,200}$/)

/** A receiver of notifications. */
const webhook = z.strictObject({
  name: value.text('a name of letters, digits, dots, dashes', /^[\w.-]{1,64}$/),
  type: withDefault(value.oneOf(['json', 'slack']), 'json'),
  url: value.webhookUrl(),
  events: list(value.oneOf(notifyEvents), [...notifyEvents]),
  secret: withDefault(signingSecret(), null),
})

/** A daemon that commands can run on with `--profile`. */
const profile = z.strictObject({
  server: value.publicUrl(),
  clientId: value.text('a client ID', /^[\x21-\x7e]{1,200}$/),
  clientSecretFile: value.text('the path of a secret file', /^[^\u0000-\u001f]{1,1000}$/),
})

/** A connection URI of libpq, with or without credentials and parameters. */
export function databaseUrl() {
  return value.textOrNull(
    'a URL such as postgres://user:password@host:5432/database',
    /^postgres(?:ql)?:\/\/(?:[^\s/?#@]*@)?[^\s/?#@:]*(?::\d{1,5})?(?:\/[^\s?#]*)?(?:\?[^\s#]*)?$/,
  )
}

/** A connection URL of Redis, with or without credentials and the number of a database. */
function redisUrl() {
  return value.textOrNull(
    'a URL such as redis://user:password@host:6379 or rediss://host',
    /^rediss?:\/\/(?:[^\s/?#@]*@)?(?:[^\s/?#@:[\]]+|\[[\da-fA-F:.]+\])(?::\d{1,5})?(?:\/\d{0,4})?$/,
  )
}

/**
 * Schema of the configuration file. Durations are parsed to milliseconds, sizes to bytes. Unknown keys are errors, so that no misspelt
 * setting is silently ignored.
 */
export const configSchema = z.strictObject({
  server: section({
    host: withDefault(value.text('an address or a host name', /^[\w.:-]{1,253}$/), '127.0.0.1'),
    port: withDefault(value.wholeNumber(0, 65_535), 8080),
    socket: withDefault(value.socketPathOrNull(), null),
    names: list(value.hostName()),
    proxyProtocol: withDefault(value.flag(), false),
    processes: withDefault(value.wholeNumber(1, 64), 1),
    stopDelay: withDefault(value.duration(), '0s'),
    stopGrace: withDefault(value.duration(), '10s'),
  }),
  log: section({
    format: withDefault(value.oneOf(['auto', 'json', 'text']), 'auto'),
    access: withDefault(value.flag(), false),
  }),
  trustedProxies: list(value.network()),
  shop: withDefault(value.oneOf(shops), 'plain'),
  salesChannels: list(salesChannel),
  reverseProxies: list(reverseProxy),
  purgers: list(value.network(), ['127.0.0.0/8', '::1']),
  purge: section({
    softPurge: withDefault(value.flag(), false),
    softAbove: withDefault(value.shareOrNull(), null),
    timeout: withDefault(value.duration(1), '5s'),
    retryFor: withDefault(value.duration(1000), '24h'),
    everythingAbove: withDefault(value.wholeNumber(1, 10_000_000), 10_000),
    settleTime: withDefault(value.duration(), '1s'),
  }),
  cache: section({
    backend: withDefault(value.oneOf(['filesystem']), 'filesystem'),
    compression: withDefault(value.flag(), true),
    memory: withDefault(value.size(), '128MB'),
    maxSize: withDefault(value.sizeOrNull(), null),
    maxPageSize: withDefault(value.size(), '16MB'),
    maxVariants: withDefault(value.wholeNumber(1, 10_000), 64),
    defaultTtl: withDefault(value.duration(), 0),
    types: list(typeRule),
    variants: section({
      cookies: list(value.cookieNames()),
      headers: list(value.headerName()),
      freeCookies: list(value.cookieName()),
      map: z.prefault(
        z.record(value.text('a name of at most 32 letters, digits and dashes', /^[a-z0-9-]{1,32}$/i), classMap),
        {},
      ),
    }),
    bypass: section({
      cookies: list(value.cookieName()),
      paths: list(value.path(), ['/checkout', '/account', '/admin', '/api']),
    }),
    grace: withDefault(value.duration(), '0s'),
    emptyPaths: list(value.path()),
    assets: list(value.text('a path prefix such as /media', /^\/[^\s/\u0000-\u001f][^\s\u0000-\u001f]*$/)),
    browser: withDefault(value.oneOf(['pass', 'no-store']), 'pass'),
    shared: section({
      url: withDefault(redisUrl(), null),
      maxAge: withDefault(value.duration(1000), '7d'),
    }),
    esi: withDefault(value.oneOf(['off', 'auto']), 'off'),
    esiPaths: list(value.path(), ['/_esi/', '/_fragment']),
    invalidateOnUnsafe: withDefault(value.oneOf(['off', 'uri', 'rfc']), 'rfc'),
    ignoreQuery: list(value.text('a parameter name, with a trailing * as a wildcard', /^[^\s&=#]+$/)),
  }),
  origin: section({
    connectTimeout: withDefault(value.duration(1), '5s'),
    headersTimeout: withDefault(value.duration(1), '60s'),
    idleTimeout: withDefault(value.duration(1), '60s'),
    totalTimeout: withDefault(value.duration(1), '5m'),
    maxConcurrent: withDefault(value.wholeNumber(1, 10_000), 64),
    queue: withDefault(value.wholeNumber(0, 100_000), 256),
    queueTimeout: withDefault(value.duration(1), '10s'),
  }),
  warmup: section({
    concurrency: withDefault(value.wholeNumber(1, maxWarmupConcurrency), 4),
    requestsPerSecond: withDefault(value.positiveNumberOrNull(), null),
    timeout: withDefault(value.duration(1), '30s'),
    retries: withDefault(value.wholeNumber(0, 20), 3),
    afterPurge: withDefault(value.durationOrNull(), null),
    variants: list(warmupVariant),
  }),
  notify: section({
    webhooks: list(webhook),
    secret: withDefault(signingSecret(), null),
    hitRatio: withDefault(value.shareOrNull(), null),
    diskFree: withDefault(value.size(), '2GB'),
    proxyAfter: withDefault(value.duration(), '5m'),
  }),
  records: section({
    url: withDefault(databaseUrl(), null),
    listenUrl: withDefault(databaseUrl(), null),
    pool: withDefault(value.wholeNumber(1, 100), 10),
  }),
  cluster: section({
    node: withDefault(value.textOrNull('a name of letters, digits, dots, dashes', /^[\w.-]{1,64}$/), null),
    mode: withDefault(value.oneOf(['available', 'strict']), 'available'),
    lease: withDefault(value.duration(100), '1s'),
    alone: withDefault(value.duration(), '1m'),
  }),
  retention: section({
    reverseProxyLogDays: withDefault(value.wholeNumber(1, 3650), 30),
    invalidationLogDays: withDefault(value.wholeNumber(1, 3650), 30),
    warmupDays: withDefault(value.wholeNumber(1, 3650), 14),
  }),
  auth: section({
    mode: withDefault(value.oneOf(['builtin', 'shop']), 'builtin'),
    tokenLifetime: withDefault(value.duration(1000), '10m'),
  }),
  profiles: z.prefault(z.record(value.text('a name of letters, digits, dots, dashes', /^[\w.-]{1,64}$/), profile), {}),
  errorPage: withDefault(value.textOrNull('the path of an HTML file', /^[^\u0000-\u001f]{1,1000}$/), null),
  stages: section({
    customerHeader: withDefault(value.headerNameOrNull(), null),
    customerToken: z.prefault(customerToken, {}),
    customerDeletion: withDefault(value.oneOf(['remove', 'anonymize']), 'anonymize'),
    requireOrigin: withDefault(value.flag(), false),
    rateLimit: section({
      perAddress: withDefault(value.positiveNumberOrNull(), 50),
      perStage: withDefault(value.positiveNumberOrNull(), 2000),
      total: withDefault(value.positiveNumberOrNull(), 5000),
    }),
  }),
})

/** The parsed configuration: durations in milliseconds, sizes in bytes, URLs without a trailing slash. */
export type Config = z.infer<typeof configSchema>
export type SalesChannel = Config['salesChannels'][number]
export type ReverseProxy = Config['reverseProxies'][number]
export type CustomerTokenSettings = Config['stages']['customerToken']
