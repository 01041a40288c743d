import { expect, it, onTestFinished } from 'vitest'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { testDatabase } from '../helpers/records.ts'
import { startRelay, type Relay } from '../helpers/relay.ts'
import { until } from '../helpers/until.ts'
import { tagged } from '../http/api/shop.ts'

/** Two machines: daemons with directories of their own, the same shop and the same PostgreSQL, the second behind a relay. */
interface Cluster {
  origin: Origin
  one: Daemon
  two: Daemon
  relay: Relay
}

async function openCluster(mode: 'available' | 'strict'): Promise<Cluster> {
  const { searchParams, pathname } = new URL(testDatabase()!.url)
  const relay = await startRelay(`${searchParams.get('host')}/.s.PGSQL.5432`)
  onTestFinished(() => relay.stop())
  let version = 1
  const origin = await startOrigin({ otherwise: () => ({ ...tagged('red'), body: `version ${version++}` }) })
  onTestFinished(() => origin.stop())
  const start = async (node: string, url: string) => {
    const [config, env] = [{ cluster: { node, mode } }, { PAGECACHE_RECORDS_URL: url }]
    const daemon = await startDaemon({ args: ['--origin', origin.url], config, env })
    onTestFinished(async () => void (await daemon.stop()))
    return daemon
  }
  const one = await start('one', testDatabase()!.url)
  const two = await start('two', `postgres://pagecache@127.0.0.1:${relay.port}${pathname}`)
  return { origin, one, two, relay }
}

async function get(daemon: Daemon, path = '/a') {
  const { headers, body } = await exchange(`${daemon.url}${path}`)
  return { version: Number(body.toString().slice('version '.length)), status: headers.get('cache-status') ?? '' }
}

/** Waits until a node serves its page from the cache, without a remark. */
async function cached(daemon: Daemon) {
  return until(async () => {
    const { version, status } = await get(daemon)
    return /hit; ttl=\d+$/.test(status) && version
  })
}

async function purge(daemon: Daemon) {
  const { status, headers } = await exchange(`${daemon.url}/`, { method: 'PURGE', headers: { xkey: 'red' } })
  return { status, unconfirmed: headers.get('x-purge-unconfirmed') }
}

it('no node serves a page from before a purge that another one has answered', async () => {
  const { one, two } = await openCluster('available')
  for (let rounds = 0; rounds < 5;) {
    await cached(one)
    const before = await cached(two)
    const { status, unconfirmed } = await purge(one)
    expect(status).toBe(200)
    // A node that the machine has stalled is named, and may serve for a while.
    if (unconfirmed !== null) continue
    expect((await get(two)).version).toBeGreaterThan(before)
    rounds += 1
  }
  // A command of a machine waits for the nodes as its daemon does.
  const { before, after } = await until(async () => {
    const { version } = await get(two)
    const { stdout } = await one.run('purge:tag', 'red', '--json')
    return !stdout.includes('unconfirmed') && { before: version, after: (await get(two)).version }
  })
  expect(after).toBeGreaterThan(before)
  // Without pages of its own, a node that returns continues behind the last purge.
  expect(await two.stop()).toBe(0)
  expect(await purge(one)).toEqual({ status: 200, unconfirmed: null })
})

it('a frozen node delays one purge by its lease, and serves nothing from before when it continues', async () => {
  const { one, two } = await openCluster('strict')
  const before = await cached(two)
  two.kill('SIGSTOP')
  const purged = [await purge(one), await purge(one)]
  two.kill('SIGCONT')
  expect(purged).toEqual([
    { status: 200, unconfirmed: null },
    { status: 200, unconfirmed: null },
  ])
  expect((await get(two)).version).toBeGreaterThan(before)
  expect(await cached(two)).toBeGreaterThan(before)
})

it('a node without the database serves as its mode says, and purges name it', async () => {
  const { one, two, relay } = await openCluster('available')
  const before = await cached(two)
  await relay.set('refusing')
  await until(async () => (await get(two)).status.includes('detail="unconfirmed"'))
  expect(await purge(one)).toEqual({ status: 200, unconfirmed: 'two' })
  expect((await purge(two)).status).toBe(503)
  await relay.set('open')
  expect(await cached(two)).toBeGreaterThan(before)
  // Once more where the machine has stalled it meanwhile.
  await until(async () => (await purge(one)).unconfirmed === null)
})
