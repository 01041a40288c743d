import { expect, it, onTestFinished } from 'vitest'
import { hash } from 'node:crypto'
import { bearer, createClient, fetchToken } from '../helpers/api-client.ts'
import type { Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { execute } from '../helpers/postgres.ts'
import { testDatabase } from '../helpers/records.ts'
import { startRelay } from '../helpers/relay.ts'
import { until } from '../helpers/until.ts'
import { openShop } from '../http/api/shop.ts'

it('a daemon starts without PostgreSQL, serves visitors, says why purges are refused, and goes on when it is back', async () => {
  const { searchParams, pathname } = new URL(testDatabase()!.url)
  const relay = await startRelay(`${searchParams.get('host')}/.s.PGSQL.5432`, 'refusing')
  onTestFinished(() => relay.stop())
  const url = `postgres://pagecache:canary@127.0.0.1:${relay.port}${pathname}`
  const shop = await openShop({ env: { PAGECACHE_RECORDS_URL: url } })
  onTestFinished(() => shop.close())
  const readiness = async () => {
    const { status: http, body } = await shop.ask('/readyz')
    return { http, ...(JSON.parse(body.toString()) as { status: string; code?: string }) }
  }
  const purge = async () => (await shop.ask('/', { method: 'PURGE', headers: { xkey: 'a' } })).status
  expect((await shop.ask('/a')).status).toBe(200)
  // It has had no lease yet: another machine may have purged any page.
  expect((await shop.ask('/a')).headers.get('cache-status')).toContain('no lease')
  expect(await purge()).toBe(503)
  expect(await readiness()).toMatchObject({ http: 200, status: 'degraded', code: 'STORE_UNREACHABLE' })
  expect(JSON.stringify(await readiness())).not.toContain('127.0.0.1')
  expect((await shop.ask('/metrics')).body.toString()).toMatch(/^pagecache_records_usable(?:\{[^}]*\})? 0$/m)

  await relay.set('open')
  await until(async () => (await readiness()).status === 'ready')
  await until(async () => (await purge()) === 200)
  await until(async () => (await shop.ask('/a')).headers.get('cache-status')!.includes('hit'))
  await until(() => shop.daemon.logs().includes('The records can be used again.'))

  const session = await logIn(shop.daemon)
  expect((await session('GET')).body).toContain('clientId')

  await relay.set('silent')
  await until(async () => (await readiness()).status === 'degraded')
  expect((await shop.ask('/b')).status).toBe(200)
  expect(shop.daemon.logs()).toContain('The records cannot be used')

  // A logout ends the session, in the records too when they are back.
  const out = await session('DELETE')
  expect([out.status, out.cookie]).toEqual([200, expect.stringContaining('Max-Age=0')])
  expect(JSON.parse((await session('GET')).body)).toEqual({ success: true, session: null })
  expect((await session('DELETE', 'a'.repeat(43))).cookie).toContain('Max-Age=0')
  await relay.set('open')
  const count = 'select count(*)::int as count from admin_sessions'
  await until(async () => (await execute(testDatabase()!.url, count)).rows[0].count === 0)
  expect(shop.daemon.logs()).not.toContain('canary')
})

/** Opens a session of the admin page. Returns a function that sends its requests, or those of another one. */
async function logIn(daemon: Daemon) {
  const token = await fetchToken(daemon.url, await createClient(daemon, 'operator'))
  const url = `${daemon.url}/admin/session`
  const opened = await exchange(url, { method: 'POST', headers: bearer(token) })
  const own = /^[\w-]+=([^;]+)/.exec(opened.headers.get('set-cookie')!)![1]!
  return async (method: string, value = own) => {
    const csrf = hash('sha256', `csrf ${value}`, 'base64url')
    const headers = { cookie: `pagecache-session=${value}`, 'x-csrf-token': csrf }
    const answer = await exchange(url, { method, headers })
    return { status: answer.status, body: answer.body.toString(), cookie: answer.headers.get('set-cookie') }
  }
}
