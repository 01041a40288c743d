import { expect, it, onTestFinished } from 'vitest'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin } from '../helpers/origin.ts'
import { execute, newDatabase, startPostgres, startStandby } from '../helpers/postgres.ts'
import { startRelay } from '../helpers/relay.ts'
import { until } from '../helpers/until.ts'

const tags = { 'content-type': 'text/plain', 'cache-control': 'public, s-maxage=3600', xkey: 'red' }

async function get(daemon: Daemon) {
  const { status, headers, body } = await exchange(`${daemon.url}/a`)
  expect(status).toBe(200)
  return { version: Number(body.toString()), isHit: headers.get('cache-status')!.includes('; hit') }
}

async function purge(daemon: Daemon): Promise<boolean> {
  return (await exchange(`${daemon.url}/`, { method: 'PURGE', headers: { xkey: 'red' } })).status === 200
}

it('all nodes drop their pages and go on when a standby takes over that has lost the last purge', async () => {
  const primary = (await startPostgres())!
  let isPrimaryUp = true
  const stopPrimary = async () => {
    if (isPrimaryUp) await primary.stop()
    isPrimaryUp = false
  }
  onTestFinished(stopPrimary)
  const { pathname } = new URL(await newDatabase(primary))
  const standby = await startStandby(primary)
  onTestFinished(() => standby.stop())
  const relay = await startRelay(primary.socket)
  onTestFinished(() => relay.stop())
  let version = 1
  const origin = await startOrigin({ otherwise: () => ({ headers: tags, body: String(version) }) })
  onTestFinished(() => origin.stop())
  const start = async (node: string) => {
    const daemon = await startDaemon({
      args: ['--origin', origin.url],
      config: { cluster: { node, mode: 'strict' } },
      env: { PAGECACHE_RECORDS_URL: `postgres://pagecache@127.0.0.1:${relay.port}${pathname}` },
    })
    onTestFinished(async () => void (await daemon.stop()))
    return daemon
  }
  const nodes = [await start('one'), await start('two')] as const
  const [one, two] = nodes
  /** Waits until a node serves from its cache. */
  const hit = (daemon: Daemon) =>
    until(async () => {
      const found = await get(daemon)
      return found.isHit && found.version
    })

  for (const node of nodes) expect(await hit(node)).toBe(1)
  const behind = `select count(*)::int as count from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()`
  await until(async () => (await execute(primary.url('postgres'), behind)).rows[0].count === 1)
  await standby.pause()
  version = 2
  await until(() => purge(one))
  for (const node of nodes) expect(await hit(node)).toBe(2)
  // No purge says so: only nodes that drop their pages notice.
  version = 3

  await stopPrimary()
  await standby.promote()
  relay.lead(standby.socket)
  for (const node of nodes) {
    const { version: seen, isHit } = await get(node)
    // Before the node has heard of the failover it may have its lease, and serves what was current then.
    if (isHit) expect(seen).toBeGreaterThanOrEqual(2)
  }
  for (const node of nodes)
    await until(async () => {
      const found = await get(node)
      expect(found.version).toBeGreaterThanOrEqual(2)
      return found.isHit && found.version === 3
    })

  for (version = 4; version < 8; version += 1) {
    await until(() => purge(version % 2 === 0 ? one : two))
    for (const node of nodes) expect((await get(node)).version).toBe(version)
    for (const node of nodes) expect(await hit(node)).toBe(version)
  }
})
