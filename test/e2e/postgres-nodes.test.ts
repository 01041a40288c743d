import { expect, it, onTestFinished } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { bearer, createClient, fetchToken, jsonOf, prefix } from '../helpers/api-client.ts'
import { hasChromium, openChromium } from '../helpers/chromium.ts'
import { runCommand } from '../helpers/commands.ts'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin } from '../helpers/origin.ts'
import { testDatabase } from '../helpers/records.ts'
import { startRelay, type Relay } from '../helpers/relay.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'
import { tagged } from '../http/api/shop.ts'
import { go, logIn } from './operators-page.ts'

const host = 'shop.test'
const product = '0190c0de000070008000000000000001'

/**
 * Two machines with the same shop and PostgreSQL, the second behind a relay, which it needs for the database. Leases
 * are long, and what depends on them is repeated: on a busy machine a node may be without one at any moment.
 */
async function openCluster() {
  const { searchParams, pathname } = new URL(testDatabase()!.url)
  const relay = await startRelay(`${searchParams.get('host')}/.s.PGSQL.5432`)
  onTestFinished(() => relay.stop())
  let version = 1
  const origin = await startOrigin({
    otherwise: ({ method }) =>
      method === 'POST' ? { body: 'done' } : { ...tagged(`red product-${product}`), body: `version ${version++}` },
  })
  onTestFinished(() => origin.stop())
  const start = async (node: string, url: string, projectDir: string) => {
    const shop = { id: '0190c0de-0000-7000-8000-000000000001', name: 'Shop', url: `http://${host}`, origin: origin.url }
    const [config, env] = [{ cluster: { node, lease: '3s' }, salesChannels: [shop] }, { PAGECACHE_RECORDS_URL: url }]
    const daemon = await startDaemon({ config, env, projectDir })
    onTestFinished(async () => void (await daemon.stop()))
    return daemon
  }
  const directory = await tempDir()
  const one = await start('one', testDatabase()!.url, await tempDir())
  const startTwo = () => start('two', `postgres://pagecache@127.0.0.1:${relay.port}${pathname}`, directory)
  return { one, two: await startTwo(), startTwo, relay }
}

type Cluster = Awaited<ReturnType<typeof openCluster>>

// oxlint-disable-next-line typescript/no-explicit-any -- a value of any command
async function json(daemon: Pick<Daemon, 'run'>, ...args: string[]): Promise<Record<string, any>> {
  const { code, stdout, stderr } = await daemon.run(...args, '--json')
  expect(code, stderr + stdout).toBe(0)
  return JSON.parse(stdout) as Record<string, unknown>
}

async function get(daemon: Daemon, path = '/a') {
  const { headers, body } = await exchange(`${daemon.url}${path}`, { headers: { host } })
  return { version: Number(body.toString().slice('version '.length)), status: headers.get('cache-status') ?? '' }
}

/** Waits until a node serves a page from the cache under its lease. */
function cached(daemon: Daemon, path = '/a') {
  return until(async () => {
    const { version, status } = await get(daemon, path)
    return /hit; ttl=\d+$/.test(status) && version
  })
}

const states = async (daemon: Daemon) =>
  (await json(daemon, 'cluster:nodes'))['items'].map(({ name, state }: Record<string, string>) => `${name} ${state}`)

const request = async (daemon: Daemon, method: string, path: string, headers = {}) => {
  const answer = await exchange(`${daemon.url}${path}`, { method, headers: { host, ...headers } })
  expect(answer.status).toBe(200)
  return answer
}

/** Everything that removes the page `/a`, performed at the first node. */
const removals: Readonly<Record<string, (one: Daemon) => Promise<unknown>>> = {
  'a tag': (one) => request(one, 'PURGE', '/', { xkey: 'red' }),
  'a soft purge': (one) => request(one, 'PURGE', '/', { 'xkey-softpurge': 'red' }),
  'a soft purge by a command': (one) => json(one, 'purge:tag', 'red', '--soft'),
  'a URL': (one) => request(one, 'PURGE', '/a'),
  'a pattern': (one) => request(one, 'BAN', '/a.*'),
  everything: (one) => request(one, 'BAN', '/'),
  'an entity': (one) => json(one, 'purge:entity', 'product', product),
  'a type': (one) => json(one, 'vendor:cache:clear', '--type', 'products'),
  'a clear': (one) => json(one, 'vendor:cache:clear'),
  'the application cache': (one) => json(one, 'cache:clear'),
  'a POST of a visitor': (one) => request(one, 'POST', '/a'),
}

async function expectRemovals({ one, two }: Cluster) {
  for (const [name, remove] of Object.entries(removals)) {
    const { before, after } = await confirmed(two, async () => {
      await cached(one)
      return () => remove(one)
    })
    expect(after, name).toBeGreaterThan(before)
  }
  // The node of the visitor need not have the page.
  const { before, after } = await confirmed(two, async () => {
    await json(one, 'vendor:cache:clear')
    return () => request(one, 'POST', '/a')
  })
  expect(after).toBeGreaterThan(before)
}

/**
 * The versions of a page on a node before and after a removal. Repeats it where the machine was so busy that the node had lost its lease,
 * and served the page unconfirmed.
 */
function confirmed(node: Daemon, prepare: () => Promise<() => Promise<unknown>>) {
  return until(async () => {
    const remove = await prepare()
    const before = await cached(node)
    await remove()
    const { version, status } = await get(node)
    return !status.includes('unconfirmed') && { before, after: version }
  })
}

async function expectSums({ one, two }: Cluster) {
  await json(one, 'vendor:cache:clear')
  await cached(one)
  for (const path of ['/a', '/b', '/c']) await cached(two, path)
  const own = (name: string, totalFiles: number) => expect.objectContaining({ name, totalFiles })
  for (const daemon of [one, two])
    await until(async () => {
      const { totalFiles, byType, nodes } = await json(daemon, 'cache:stats')
      expect([totalFiles, byType.products, nodes]).toEqual([4, 4, [own('one', 1), own('two', 3)]])
    })
  await until(async () => expect((await one.run('cache:stats')).stdout).toMatch(/^pages: 4\n[^]*^two\t3\t/m))
  expect(await json(two, 'cache:list')).toMatchObject({ node: 'two', total: 3 })
  expect(await json(one, 'cache:inspect', '/a')).toMatchObject({ node: 'one', cached: true })
  // A machine without a daemon says the same, and removes the pages of the others.
  const projectDir = await tempDir()
  const other = { run: (...args: string[]) => runCommand(args, projectDir, { PAGECACHE_CLUSTER_NODE: 'other' }) }
  await until(async () =>
    expect(await json(other, 'cache:stats')).toMatchObject({
      totalFiles: 4,
      nodes: [{ name: 'one' }, { name: 'two' }],
    }),
  )
  const share = (key: string, ...counts: number[]) =>
    ['one', 'two'].map((name, index) => ({ name, [key]: counts[index] }))
  await until(async () => {
    await cached(one)
    for (const path of ['/a', '/b', '/c']) await cached(two, path)
    // A page is stored a moment after its answer, and then it counts.
    await until(async () => (await json(one, 'cache:stats'))['totalFiles'] === 4)
    const before = (await get(two)).version
    const cleared = await json(other, 'vendor:cache:clear')
    expect(cleared).toMatchObject({ filesDeleted: 4, nodes: share('filesDeleted', 1, 3) })
    expect((await get(two)).version).toBeGreaterThan(before)
  })
  await until(async () => {
    for (const daemon of [one, two]) await cached(daemon)
    await cached(two, '/b')
    await until(async () => (await json(one, 'cache:stats'))['totalFiles'] === 3)
    const purged = await json(one, 'purge:tag', 'red', 'blue')
    expect(purged).toMatchObject({ pagesRemoved: 3, nodes: share('pagesRemoved', 1, 2) })
  })
  const { items } = await json(one, 'reverse-proxy:recent', '--limit', '2')
  const counts = items.map(({ tag, pagesRemoved }: Record<string, unknown>) => [tag, pagesRemoved])
  expect(new Map(counts)).toEqual(
    new Map<unknown, unknown>([
      ['red', 3],
      ['blue', 0],
    ]),
  )
  expect(await json(one, 'invalidation-log:recent', '--limit', '1')).toMatchObject({ items: [{ pagesRemoved: 3 }] })
}

async function expectNamed({ one, two, relay }: Cluster & { relay: Relay }) {
  const before = await cached(two)
  await relay.set('refusing')
  await until(async () => (await states(one)).includes('two suspect'))
  expect(await json(one, 'purge:url', '/a')).toMatchObject({ unconfirmed: ['two'], nodes: [{ name: 'one' }] })
  expect((await get(two)).version).toBe(before)
  const last = async (...args: string[]) => (await json(one, ...args))['items'].at(-1).unconfirmed
  expect(await last('reverse-proxy:recent', '--limit', '1')).toEqual(['two'])
  expect(await last('reverse-proxy:url-flow', '/a')).toEqual(['two'])
  expect(await last('invalidation-log:recent', '--limit', '1')).toEqual(['two'])
  expect((await one.run('purge:url', '/a')).stdout).toContain('Unconfirmed: two had no lease')
  expect((await one.run('status')).stdout).toMatch(/^Node: two suspect, \d+ purges behind$/m)
}

/** The suspect node, over the HTTP API and on the operators' page. */
async function expectShown({ one }: Cluster) {
  const [client, reader] = [await createClient(one, 'operator'), await createClient(one, 'reader', 'read')]
  const headers = bearer(await fetchToken(one.url, reader))
  const listed = await exchange(`${one.url}${prefix}/cluster/nodes`, { headers })
  const suspect = expect.objectContaining({ name: 'two', state: 'suspect' })
  expect(jsonOf(listed)).toMatchObject({ success: true, clustered: true, items: [expect.anything(), suspect] })
  const refused = await exchange(`${one.url}${prefix}/cluster/forget`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ node: 'two', force: true }),
  })
  expect(refused.status).toBe(403)
  if (!hasChromium) return
  const browser = await openChromium()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  page.setDefaultTimeout(120_000)
  await page.goto(`${one.url}/admin`)
  await logIn(page, client)
  await page.getByRole('region', { name: 'Nodes by name' }).getByText('suspect').waitFor()
  await page.getByRole('region', { name: 'Pages by node' }).getByText('one').waitFor()
  await go(page, 'Purges')
  await page.getByText('two: unconfirmed').first().waitFor()
  await browser.close()
}

async function expectForgotten({ one, two, relay }: Cluster) {
  const before = (await get(two)).version
  const forget = (node: string, ...flags: string[]) => one.run('cluster:forget', node, '--yes', ...flags)
  expect(await forget('three')).toMatchObject({ code: 3 })
  await until(async () =>
    expect(await forget('one')).toMatchObject({ code: 3, stderr: expect.stringContaining('Node one is live') }),
  )
  expect(await forget('two')).toMatchObject({ code: 3, stderr: expect.stringContaining('without a lease for another') })
  expect(await forget('two', '--force')).toMatchObject({ code: 0, stdout: 'two was removed from the cluster.\n' })
  await until(async () => expect(await states(one)).toEqual(['one live']))
  expect(await json(one, 'purge:url', '/a')).not.toHaveProperty('unconfirmed')
  await relay.set('open')
  await until(async () => (await states(one)).includes('two live'))
  expect(await cached(two)).toBeGreaterThan(before)
  // A live node comes back with an empty cache, too.
  await cached(two, '/kept')
  expect((await forget('two', '--force')).code).toBe(0)
  await until(async () => (await states(one)).includes('two live'))
  expect(await json(two, 'cache:list', '--prefix', `http://${host}/kept`)).toMatchObject({ total: 0 })
}

it('the nodes of a cluster are one pagecache for operators', async () => {
  const cluster = await openCluster()
  const { one, two, startTwo } = cluster
  const live = { state: 'live', version: manifest.version, purgesBehind: 0 }
  await until(async () => {
    const { items, ...rest } = await json(one, 'cluster:nodes')
    expect(items).toMatchObject([
      { name: 'one', address: one.url, ...live },
      { name: 'two', address: two.url, ...live },
    ])
    expect(rest).toMatchObject({ clustered: true, total: 2 })
    for (const { leaseLeft } of items) expect(leaseLeft).toBeGreaterThan(0)
  })
  await expectRemovals(cluster)
  await expectSums(cluster)
  await expectNamed(cluster)
  await expectShown(cluster)
  await expectForgotten(cluster)
  // A process that starts after a crash takes the place of the one that ended.
  const before = await cached(two)
  two.kill('SIGKILL')
  await two.ended
  const again = await startTwo()
  expect(await json(one, 'purge:url', '/a')).not.toHaveProperty('unconfirmed')
  expect((await get(again)).version).toBeGreaterThan(before)
  await until(async () => expect(await states(one)).toEqual(['one live', 'two live']))
  // What visitors of a node got is in the sums of all, at the latest when it has stopped.
  for (const path of ['/x', '/y', '/z']) await get(again, path)
  expect(await again.stop()).toBe(0)
  expect((await json(one, 'cache:traffic', '--since', '1h'))['totals'].misses).toBeGreaterThanOrEqual(3)
  await until(async () => expect(await states(one)).toEqual(['one live']))
})
