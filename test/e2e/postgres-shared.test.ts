import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../helpers/commands.ts'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { testDatabase } from '../helpers/records.ts'
import { hasRedis, startRedis, type Redis } from '../helpers/redis.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'
import { tagged } from '../http/api/shop.ts'

const host = 'shop.test'

/** Two machines that share their pages in Redis. */
async function openCluster(): Promise<{ origin: Origin; one: Daemon; two: Daemon; redis: Redis }> {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  let version = 1
  const origin = await startOrigin({ otherwise: () => ({ ...tagged('red'), body: `version ${version++}` }) })
  onTestFinished(() => origin.stop())
  const start = async (node: string, ...args: string[]) => {
    const config = {
      cluster: { node },
      salesChannels: [
        { id: '0190c0de-0000-7000-8000-000000000001', name: 'Shop', url: `http://${host}`, origin: origin.url },
      ],
      records: { url: testDatabase()!.url },
      cache: { shared: { url: redis.url } },
    }
    const daemon = await startDaemon({ args, config })
    onTestFinished(async () => void (await daemon.stop()))
    return daemon
  }
  return { origin, one: await start('one', '--no-workers'), two: await start('two', '--no-workers'), redis }
}

async function get(daemon: Daemon, path = '/a') {
  const { status, headers, body } = await exchange(`${daemon.url}${path}`, { headers: { host } })
  const version = Number(body.toString().slice('version '.length))
  return { status, version, how: headers.get('cache-status') ?? '' }
}

async function purge(daemon: Daemon) {
  const { status } = await exchange(`${daemon.url}/`, { method: 'PURGE', headers: { host, xkey: 'red' } })
  expect(status).toBe(200)
}

/** Resolves when a page of one daemon is a hit on another, to the path of the page. */
function shared(from: Daemon, to: Daemon) {
  let tries = 0
  return until(async () => {
    const path = `/shared-${(tries += 1)}`
    await get(from, path)
    return (await get(to, path)).how.includes('fetched by another node') && path
  })
}

it.skipIf(!hasRedis)(
  'a page that one daemon has fetched is a hit on another, and none from before a purge',
  async () => {
    const { one, two, redis } = await openCluster()
    await shared(one, two)
    await shared(two, one)
    for (let round = 0; round < 30; round += 1) {
      const [purger, other] = round % 2 === 0 ? [one, two] : [two, one]
      const before = Math.max((await get(purger)).version, (await get(other)).version)
      await purge(purger)
      const after = await Promise.all([get(purger), get(other), get(other, '/a?utm_source=x')])
      for (const { version } of after) expect(version).toBeGreaterThan(before)
      // Nothing from before was stored either.
      await until(async () => (await get(purger)).how.includes('hit'))
      expect((await get(purger)).version).toBeGreaterThan(before)
    }
    // A command counts like a daemon, on the machine where it runs too.
    const before = (await get(one)).version
    expect((await one.run('purge:tag', 'red')).code).toBe(0)
    for (const daemon of [one, two]) expect((await get(daemon)).version).toBeGreaterThan(before)
    await redis.kill()
    const missed = await Promise.all([get(one, '/without-redis'), get(two, '/without-redis')])
    expect(missed.map(({ status, how }) => [status, how.includes('fwd=')])).toEqual([
      [200, true],
      [200, true],
    ])
  },
)

it.skipIf(!hasRedis)('pages that a worker without a daemon has fetched are hits on the daemons', async () => {
  const { one, two } = await openCluster()
  await shared(one, two)
  // The directory of the worker has a page store of its own.
  const worker = await tempDir()
  await copyFile(join(one.projectDir, 'pagecache.yaml'), join(worker, 'pagecache.yaml'))
  const working = runCommand(['messenger:consume', 'async', '--time-limit', '600'], worker)
  let round = 0
  // A node that does not learn the latest purges in time asks the shop.
  await until(async () => {
    round += 1
    const paths = ['a', 'b', 'c', 'd'].map((name) => `/${name}-${round}`)
    expect((await one.run('warmup:start', ...paths, '--wait')).code).toBe(0)
    const found = await Promise.all(paths.map((path) => get(two, path)))
    return found.every(({ how }) => how.includes('fetched by another node'))
  })
  expect((await one.run('messenger:stop-workers')).code).toBe(0)
  expect((await working).code).toBe(0)
})
