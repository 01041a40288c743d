import { z } from 'zod'
import { pageTypes } from '../pages/page.ts'
import * as value from './values.ts'

const salesChannel = z.strictObject({
  id: value.text('a UUID such as 0190c0de-0000-7000-8000-000000000001', /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i),
  name: value.text('a name of 1 to 200 characters', /^[^\u0000-\u001f]{1,200}$/).prefault('Storefront'),
  url: value.publicUrl(),
  origin: value.serverUrl(),
  sitemaps: z.array(value.sitemapLocation()).prefault([]),
})

const reverseProxy = z.strictObject({
  name: value.text('a name of letters, digits, dots, dashes', /^[\w.-]{1,64}$/),
  type: value.oneOf(['varnish']),
  url: value.serverUrl(),
})

/** Which pages are of a type: by a response header (`name` or `name: value`), a tag's prefix or a URL path. */
const typeRule = z
  .strictObject({
    type: value.oneOf(pageTypes),
    header: value.text('a header, as name or name: value', /^[\w-]+(?:: ?\S.*)?$/).optional(),
    tag: value.text('the beginning of a tag', /^\S+$/).optional(),
    path: value.text('a path, * for anything', /^[/*]\S*$/).optional(),
  })
  .refine((rule) => [rule.header, rule.tag, rule.path].filter((criterion) => criterion !== undefined).length === 1, {
    message: 'exactly one of header, tag, path beside the type',
  })

/** What one extra pass of a warmup sends along: cookies and headers that the key knows. */
const warmupVariant = z.strictObject({
  cookies: z.record(value.cookieName(), value.text('the value of a cookie', /^[^\s;,"\\]*$/)).prefault({}),
  headers: z.record(value.headerName(), value.text('the value of a header', /^[^\u0000-\u001f]*$/)).prefault({}),
})

/**
 * The configuration file, contract section 2. Parsed, every duration is in milliseconds and every size in
 * bytes. Unknown keys are faults: a misspelt setting that is silently ignored is the worst kind.
 */
export const configSchema = z.strictObject({
  server: z
    .strictObject({
      host: value.text('an address or a host name', /^[\w.:-]{1,253}$/).prefault('127.0.0.1'),
      port: value.wholeNumber(0, 65_535).prefault(8080),
      processes: value.wholeNumber(1, 64).prefault(1),
    })
    .prefault({}),
  trustedProxies: z.array(value.network()).prefault([]),
  salesChannels: z.array(salesChannel).prefault([]),
  reverseProxies: z.array(reverseProxy).prefault([]),
  purgers: z.array(value.network()).prefault(['127.0.0.0/8', '::1']),
  cache: z
    .strictObject({
      backend: value.oneOf(['filesystem']).prefault('filesystem'),
      compression: value.flag().prefault(true),
      memory: value.size().prefault('128MB'),
      maxSize: value.sizeOrNull().prefault(null),
      maxPageSize: value.size().prefault('16MB'),
      maxVariants: value.wholeNumber(1, 10_000).prefault(64),
      defaultTtl: value.duration().prefault(0),
      types: z.array(typeRule).prefault([]),
      variants: z
        .strictObject({
          cookies: z.array(value.cookieName()).prefault(['sw-cache-hash', 'sw-currency']),
          headers: z.array(value.headerName()).prefault([]),
        })
        .prefault({}),
      bypass: z
        .strictObject({
          cookies: z.array(value.cookieName()).prefault([]),
          paths: z.array(value.path()).prefault(['/checkout', '/account', '/admin', '/api']),
        })
        .prefault({}),
      ignoreQuery: z.array(value.text('the name of a parameter, * at its end for any', /^[^\s&=#]+$/)).prefault([]),
    })
    .prefault({}),
  origin: z
    .strictObject({
      connectTimeout: value.duration(1).prefault('5s'),
      headersTimeout: value.duration(1).prefault('60s'),
      idleTimeout: value.duration(1).prefault('60s'),
      totalTimeout: value.duration(1).prefault('5m'),
    })
    .prefault({}),
  warmup: z
    .strictObject({
      concurrency: value.wholeNumber(1, 256).prefault(4),
      requestsPerSecond: value.positiveNumberOrNull().prefault(null),
      timeout: value.duration(1).prefault('30s'),
      retries: value.wholeNumber(0, 20).prefault(3),
      variants: z.array(warmupVariant).prefault([]),
    })
    .prefault({}),
  retention: z
    .strictObject({
      reverseProxyLogDays: value.wholeNumber(1, 3650).prefault(30),
      invalidationLogDays: value.wholeNumber(1, 3650).prefault(30),
      warmupDays: value.wholeNumber(1, 3650).prefault(14),
    })
    .prefault({}),
  auth: z
    .strictObject({
      mode: value.oneOf(['builtin', 'shop']).prefault('builtin'),
      tokenLifetime: value.duration(1000).prefault('10m'),
    })
    .prefault({}),
  stages: z
    .strictObject({
      customerHeader: value.headerNameOrNull().prefault(null),
      customerDeletion: value.oneOf(['remove', 'anonymize']).prefault('anonymize'),
    })
    .prefault({}),
  logging: z
    .strictObject({
      level: value.oneOf(['silent', 'error', 'warn', 'info', 'debug']).prefault('info'),
    })
    .prefault({}),
})

/** The whole configuration, parsed: durations in milliseconds, sizes in bytes, URLs without a slash at the end. */
export type Config = z.infer<typeof configSchema>
export type SalesChannel = Config['salesChannels'][number]
export type ReverseProxy = Config['reverseProxies'][number]
export type TypeRule = Config['cache']['types'][number]
export type WarmupVariant = Config['warmup']['variants'][number]
