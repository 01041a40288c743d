import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { askToken, bearer, createClient, fetchToken, prefix } from '../helpers/api-client.ts'
import { testDatabase } from '../helpers/records.ts'
import { startRelay } from '../helpers/relay.ts'
import { until } from '../helpers/until.ts'
import { openShop } from '../http/api/shop.ts'

/** A daemon whose records are in PostgreSQL, behind a relay that can fail. */
async function openOnPostgres() {
  const { searchParams, pathname } = new URL(testDatabase()!.url)
  const relay = await startRelay(`${searchParams.get('host')}/.s.PGSQL.5432`)
  onTestFinished(() => relay.stop())
  const url = `postgres://pagecache:canary@127.0.0.1:${relay.port}${pathname}`
  const shop = await openShop({ env: { PAGECACHE_RECORDS_URL: url } })
  onTestFinished(() => shop.close())
  const purge = async (tag: string) => (await shop.ask('/', { method: 'PURGE', headers: { xkey: tag } })).status
  return { ...shop, relay, purge }
}

it('a daemon keeps its records in PostgreSQL, outlives its absence, and rejects a revoked client at once', async () => {
  const { daemon, ask, purge, relay } = await openOnPostgres()
  expect((await ask('/a')).status).toBe(200)
  expect(await purge('a')).toBe(200)
  const client = await createClient(daemon, 'deploy')
  const token = await fetchToken(daemon.url, client)
  const stats = () => ask(`${prefix}/reverse-proxy-stats/recent`, { headers: bearer(token) })
  expect(JSON.parse((await stats()).body.toString())).toMatchObject({ success: true, total: 1 })
  expect((await daemon.run('warmup:start', '/a', '--json', '--wait')).code).toBe(0)
  expect(existsSync(join(daemon.projectDir, 'var/data/prod/records.sqlite'))).toBe(false)

  const usable = expect.objectContaining({
    name: 'records',
    message: 'PostgreSQL answers and accepts writes',
  }) as unknown
  expect(JSON.parse((await daemon.run('doctor', '--json')).stdout)).toMatchObject({
    checks: expect.arrayContaining([usable]) as unknown,
  })

  await relay.set('refusing')
  expect((await ask('/a')).headers.get('cache-status')).toContain('hit')
  expect(await purge('a')).toBe(503)
  expect((await stats()).status).toBe(503)
  expect((await askToken(daemon.url, client)).status).toBe(503)
  const doctor = await daemon.run('doctor', '--json')
  expect(JSON.parse(doctor.stdout)).toMatchObject({
    checks: expect.arrayContaining([
      expect.objectContaining({
        name: 'records',
        status: 'failed',
        message: expect.stringContaining('unreachable') as string,
      }),
    ]) as unknown,
  })
  expect((await daemon.run('stage:list')).code).toBe(5)

  await relay.set('open')
  await until(async () => (await purge('a')) === 200)
  expect((await stats()).status).toBe(200)
  expect((await daemon.run('client:revoke', client.clientId, '--yes')).code).toBe(0)
  expect((await stats()).status).toBe(401)
  expect(daemon.logs() + doctor.stdout).not.toContain('canary')
  const { stdout } = await daemon.run('config:show', '--json')
  expect((JSON.parse(stdout) as { values: unknown[] }).values).toContainEqual({
    key: 'records.url',
    value: '***',
    source: 'PAGECACHE_RECORDS_URL',
  })
  expect(await daemon.stop()).toBe(0)
})
