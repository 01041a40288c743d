import { parse } from 'zod/mini'
import { expect, it } from 'vitest'
import { describeConfig } from '../../src/config/describe.ts'
import { unknownVariables } from '../../src/config/keys.ts'
import { configSchema } from '../../src/config/schema.ts'

function describeValues(raw: unknown): Record<string, unknown> {
  const described = describeConfig({ config: parse(configSchema, raw), sourceOf: () => ({ kind: 'default' }) })
  return Object.fromEntries(described.map(({ key, value }) => [key, value]))
}

it('writes durations and sizes as they would stand in the file', () => {
  expect(describeValues({ cache: { memory: 1536, maxSize: '2GB' }, warmup: { timeout: 90 } })).toMatchObject({
    'cache.memory': '1536B',
    'cache.maxSize': '2GB',
    'warmup.timeout': '90s',
    'auth.tokenLifetime': '10m',
  })
})

it('masks credentials in URLs and the values of cookies and headers that are secret', () => {
  const id = '0190c0de-0000-7000-8000-000000000001'
  const values = describeValues({
    salesChannels: [
      {
        id,
        url: 'http://a',
        origin: 'http://user:canary@b',
        sitemaps: ['http://a/map.xml?access_token=canary&page=1'],
      },
    ],
    warmup: {
      variants: [{ cookies: { 'session-id': 'canary', 'sw-currency': 'EUR' }, headers: { Authorization: 'canary' } }],
    },
  })
  expect(JSON.stringify(values)).not.toContain('canary')
  expect(values).toMatchObject({
    'salesChannels[0].origin': 'http://***@b',
    'salesChannels[0].sitemaps': ['http://a/map.xml?access_token=***&page=1'],
    'warmup.variants[0].cookies.session-id': '***',
    'warmup.variants[0].cookies.sw-currency': 'EUR',
    'warmup.variants[0].headers.authorization': '***',
  })
})

it('finds variables that look like settings and are none', () => {
  expect(
    unknownVariables({ PAGECACHE_SERVER_PROT: '1', PAGECACHE_ENV: 'a', PAGECACHE_CACHE_MEMORY: '1', HOME: '/' }),
  ).toEqual([{ name: 'PAGECACHE_SERVER_PROT', guess: 'PAGECACHE_SERVER_PORT' }])
})

it('masks the whole URL of a database, and shows whether there is one', () => {
  const url = 'postgres://user:canary@db.example/records'
  expect(describeValues({ records: { url } })).toMatchObject({
    'records.url': '***',
    'records.listenUrl': null,
    'records.pool': 10,
  })
  const shared = { url: 'redis://:canary@cache.example', maxAge: '1d' }
  expect(describeValues({ records: { url }, cache: { shared } })).toMatchObject({
    'cache.shared.url': '***',
    'cache.shared.maxAge': '1d',
  })
})
