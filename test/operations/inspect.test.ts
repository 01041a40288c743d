import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { expect, it, onTestFinished } from 'vitest'
import { inspectPage } from '../../src/operations/inspect.ts'
import { createApiClient } from '../../src/operations/clients.ts'
import { allScopes, performOperation } from '../../src/operations/operation.ts'
import { purge } from '../../src/operations/purge.ts'
import { startOrigin, type Reply } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { openApp, store } from './pages-project.ts'
import { perform } from './perform.ts'

const url = 'http://shop.example'
const html = { 'content-type': 'text/html' }
const storable = { headers: { ...html, 'cache-control': 'public, max-age=60' }, body: '<html>' }

async function project(reply: Reply = storable, cache: object = {}) {
  const origin = await startOrigin({ otherwise: reply })
  onTestFinished(() => origin.stop())
  const projectDir = await tempDir()
  const salesChannels = [{ id: '0190c0de-0000-7000-8000-000000000001', url, origin: origin.url }]
  await writeFile(join(projectDir, 'pagecache.yaml'), stringify({ salesChannels, cache }))
  return openApp(projectDir)
}

it('names the last purge: when, what, and who', async () => {
  const app = await project()
  await store(app, 'products', '/a')
  expect(await perform(app, inspectPage, { url: '/a' })).toMatchObject({
    cached: true,
    remedy: null,
    lastPurge: null,
    pages: [{ variant: '' }],
  })
  const { clientId } = await perform(app, createApiClient, { name: 'deploy' })
  const context = { app, scopes: allScopes, signal: app.signal, report: () => {} }
  await performOperation(purge, { ...context, source: 'api', actor: clientId }, { tags: ['tag-products'] })
  const inspected = await perform(app, inspectPage, { url: '/a' })
  expect(inspected).toMatchObject({
    url: `${url}/a`,
    cached: false,
    lastPurge: { kind: 'tag', key: 'tag-products', source: 'api', client: 'deploy', mode: 'hard', pagesRemoved: 1 },
    remedy: `Fetch it with: pagecache warmup:start ${url}/a`,
  })
  expect(inspected.explanation.join('\n')).toMatch(
    /Last purged at \S+: tag tag-products, through the API \(client deploy\); 1 page removed\./,
  )
  await perform(app, purge, { urls: [`${url}/a`] })
  expect((await perform(app, inspectPage, { url: '/a' })).lastPurge).toMatchObject({
    kind: 'url',
    source: 'cli',
    client: null,
  })
  expect((await perform(app, inspectPage, { url: '/b' })).explanation).toContain(
    'The log has no purge or eviction of it.',
  )
})

it('says of a soft purge that it marked pages as stale', async () => {
  const app = await project()
  await store(app, 'products', '/a')
  await perform(app, purge, { tags: ['tag-products'], soft: true })
  const { explanation, lastPurge, cached } = await perform(app, inspectPage, { url: '/a' })
  expect({ cached, lastPurge }).toMatchObject({ cached: true, lastPurge: { mode: 'soft', pagesRemoved: 1 } })
  expect(explanation.join('\n')).toMatch(/Last purged at \S+: tag tag-products, .*; 1 page marked as stale\./)
})

it('names the last eviction', async () => {
  const app = await project(storable, { maxVariants: 1 })
  await store(app, 'cms', '/a', { key: 'one' })
  await store(app, 'cms', '/a', { key: 'two' })
  const { cached, lastEviction, explanation } = await perform(app, inspectPage, { url: '/a' })
  expect({ cached, lastEviction }).toMatchObject({ cached: true, lastEviction: { cause: 'variants' } })
  expect(explanation.at(-1)).toMatch(
    /^Last evicted at \S+, because its URL had more than cache.maxVariants variants\.$/,
  )
})

it('shows response headers where they are wanted, without the values of cookies', async () => {
  const app = await project({ headers: { ...html, 'set-cookie': 'session=canary; Path=/' }, body: '<html>' })
  await store(app, 'cms', '/stored')
  expect((await perform(app, inspectPage, { url: '/stored', headers: true })).pages[0]?.headers).toEqual([
    { name: 'Content-Type', value: 'text/html' },
  ])
  const asked = await perform(app, inspectPage, { url: '/a', headers: true })
  expect(asked.headers).toContainEqual({ name: 'set-cookie', value: 'session=***; Path=/' })
  expect(JSON.stringify(asked)).not.toContain('canary')
  expect((await perform(app, inspectPage, { url: '/a' })).headers).toBeUndefined()
})

it('masks other secrets among the headers, and in URLs', async () => {
  const headers = {
    ...html,
    'sw-context-token': 'canary',
    'set-cookie': 'canary; Path=/',
    location: 'https://user:canary@shop.example/a?token=canary&page=2',
    'access-control-allow-credentials': 'true',
  }
  const app = await project({ status: 302, headers, body: '' })
  const asked = await perform(app, inspectPage, { url: '/a', headers: true })
  expect(JSON.stringify(asked)).not.toContain('canary')
  expect(asked.headers).toEqual(
    expect.arrayContaining([
      { name: 'sw-context-token', value: '***' },
      { name: 'set-cookie', value: '***; Path=/' },
      { name: 'location', value: 'https://***@shop.example/a?token=***&page=2' },
      { name: 'access-control-allow-credentials', value: 'true' },
    ]),
  )
})

it.each([
  [{ 'cache-control': 'private' }, /Cache-Control: public/],
  [{ 'cache-control': 'no-store' }, /Cache-Control: public/],
  [{ 'cache-control': 'max-age=9', 'set-cookie': 'a=1' }, /set no cookie/],
  [{ 'cache-control': 'max-age=9', vary: '*' }, /in place of \*/],
  [{}, /serve --ttl 10m/],
])('says what to do about %j', async (headers, remedy) => {
  const app = await project({ headers: { ...html, ...headers }, body: '<html>' })
  expect((await perform(app, inspectPage, { url: '/a' })).remedy).toMatch(remedy)
})

it('says what to do about a path that bypasses the cache and an unknown host', async () => {
  const app = await project()
  const remedyOf = async (page: string) => (await perform(app, inspectPage, { url: page })).remedy
  expect(await remedyOf('/checkout')).toContain('cache.bypass.paths')
  expect(await remedyOf('http://other.example/')).toContain('salesChannels[].url')
})
