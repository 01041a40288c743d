import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { copyFile, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient, fetchToken } from '../helpers/api-client.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'

async function open(processes = 1): Promise<Shop & { directory: string; file: string }> {
  const shop = await openShop({ config: { server: { processes } } })
  onTestFinished(() => shop.close())
  const directory = join(shop.daemon.projectDir, 'var/data/prod')
  return { ...shop, directory, file: join(directory, 'records.sqlite') }
}

const isLost = (shop: Shop) => until(async () => (await shop.ask('/readyz')).status === 503)
const isBack = (shop: Shop) => until(async () => (await shop.ask('/readyz')).status === 200)
const errors = (shop: Shop) =>
  shop.daemon
    .logs()
    .split('\n')
    .filter((line) => line.includes('"level":"error"'))
/** The Authorization of a client. */
async function authorize(shop: Shop): Promise<() => Promise<string>> {
  const client = await createClient(shop.daemon, 'deploy')
  return async () => `Bearer ${await fetchToken(shop.daemon.url, client)}`
}
const track = (shop: Shop) =>
  shop.ask('/vendor-stage/track', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ popupId: '0190c0de-0000-7000-8000-000000000009', eventType: 'close' }),
  })
const purge = async (shop: Shop) => (await shop.ask('/', { method: 'PURGE', headers: { xkey: 'a' } })).status
const spoilt: [name: string, spoil: (place: { directory: string; file: string }) => Promise<unknown>][] = [
  ['is deleted', ({ file }) => rm(file)],
  ['is deleted with its log', ({ file }) => Promise.all(['', '-wal', '-shm'].map((suffix) => rm(file + suffix)))],
  ['is moved away', ({ file }) => rename(file, `${file}.away`)],
  [
    'is replaced by a copy',
    async ({ file }) => {
      await copyFile(file, `${file}.copy`)
      await rename(`${file}.copy`, file)
    },
  ],
  [
    'is replaced by something else',
    async ({ file }) => {
      await writeFile(`${file}.other`, 'a shopping list')
      await rename(`${file}.other`, file)
    },
  ],
  ['loses its log', ({ file }) => rm(`${file}-wal`)],
  ["loses its log's index", ({ file }) => rm(`${file}-shm`)],
  ['is emptied in place', ({ file }) => truncate(file)],
  [
    'is overwritten in place by a smaller copy',
    async ({ file }) => writeFile(file, (await readFile(file)).subarray(0, 2048)),
  ],
  ['goes with its directory', ({ directory }) => rename(directory, `${directory}.away`)],
  ['is deleted with its directory', ({ directory }) => rm(directory, { recursive: true })],
]

describe('records that are lost under a daemon', () => {
  it.each(spoilt)('that %s: it says so, writes nothing, makes no file, and serves pages', async (_, spoil) => {
    const shop = await open()
    const api = await (await authorize(shop))()
    await shop.ask('/stored')
    expect(await purge(shop)).toBe(200)
    await spoil(shop)
    const left = existsSync(shop.file) ? readFileSync(shop.file) : null
    await isLost(shop)
    expect(String((await shop.ask('/readyz')).body)).toContain('records lost')
    await until(() => errors(shop).some((line) => line.includes('The records cannot be used')))
    // The first event that this daemon gets: 503, not 500.
    const event = await track(shop)
    expect([event.status, String(event.body)]).toEqual([503, expect.stringContaining('"success":false')])
    expect(await purge(shop)).toBe(503)
    const started = await shop.ask('/api/_action/vendor-cache/warmup/start', {
      method: 'POST',
      headers: { authorization: api, 'content-type': 'application/json' },
      body: '{}',
    })
    expect([401, 503]).toContain(started.status)
    expect((await shop.ask('/stored')).status).toBe(200)
    shop.origin.on('/new', page('new'))
    expect((await shop.ask('/new')).status).toBe(200)
    expect(String((await shop.ask('/metrics')).body)).toContain('pagecache_records_usable 0')
    expect(existsSync(shop.file) ? readFileSync(shop.file) : null).toEqual(left)
    // Logged once, not at every check.
    expect(errors(shop).filter((line) => line.includes('The records cannot be used'))).toHaveLength(1)
    expect(shop.daemon.logs()).not.toContain('The queue is waiting')
    shop.daemon.kill('SIGTERM')
    expect(await shop.daemon.ended).toBe(0)
  })

  it.each(spoilt.filter((_, at) => at % 3 === 1))(
    'that %s: events are rejected after others were counted',
    async (_, spoil) => {
      const shop = await open()
      expect((await track(shop)).status).toBe(404)
      expect(await purge(shop)).toBe(200)
      await spoil(shop)
      await isLost(shop)
      expect((await track(shop)).status).toBe(503)
    },
  )

  it.each([1, 2])('and restored: the daemon continues, with %i processes', async (processes) => {
    const shop = await open(processes)
    expect(await purge(shop)).toBe(200)
    await rename(shop.file, `${shop.file}.away`)
    await until(() => errors(shop).some((line) => line.includes('The records cannot be used')))
    expect(await purge(shop)).toBe(503)
    await rename(`${shop.file}.away`, shop.file)
    await isBack(shop)
    await until(async () => (await purge(shop)) === 200)
    await until(() => shop.daemon.logs().includes('The records can be used again.'))
    const { stdout } = await shop.daemon.run('reverse-proxy:recent', '--json')
    expect((JSON.parse(stdout) as { total: number }).total).toBe(2)
  })

  it('a command creates no new records meanwhile, and says why', async () => {
    const shop = await open()
    await purge(shop)
    for (const suffix of ['', '-wal', '-shm']) await rm(shop.file + suffix)
    const { code, stderr } = await shop.daemon.run('purge:tag', 'a')
    expect({ code, says: stderr.includes('was deleted while') }).toEqual({ code: 5, says: true })
    expect(readdirSync(shop.directory).filter((name) => name.startsWith('records'))).toEqual([])
    const doctor = await shop.daemon.run('doctor')
    expect(doctor.stdout + doctor.stderr).toContain('was deleted while')
  })

  it('a reload is refused', async () => {
    const shop = await open()
    await purge(shop)
    for (const suffix of ['', '-wal', '-shm']) await rm(shop.file + suffix)
    shop.daemon.kill('SIGHUP')
    await until(() => /was not reloaded/.test(shop.daemon.logs()))
    await isLost(shop)
    expect(await purge(shop)).toBe(503)
    expect(readdirSync(shop.directory).filter((name) => name.startsWith('records'))).toEqual([])
  })
})

describe('signing keys that are deleted under a daemon', () => {
  it('tokens of them are refused, and clients fetch new ones', async () => {
    const shop = await open()
    const login = await authorize(shop)
    const before = await login()
    await rm(join(shop.directory, 'keys'), { recursive: true })
    const stats = (token: string) => shop.ask('/api/_action/vendor-cache/stats', { headers: { authorization: token } })
    expect((await stats(before)).status).toBe(401)
    const after = await login()
    expect((await stats(after)).status).toBe(200)
  })
})
