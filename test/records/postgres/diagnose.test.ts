import { expect, it, onTestFinished } from 'vitest'
import { diagnose } from '../../../src/records/postgres/diagnose.ts'
import { openRecords } from '../../../src/records/open.ts'
import { checkPostgres } from '../../../src/operations/doctor/postgres-check.ts'
import type { App } from '../../../src/app.ts'
import { openQueue } from '../../../src/queue/records-queue.ts'
import { hasPgbouncer, startPgbouncer } from '../../helpers/pgbouncer.ts'
import { testDatabase } from '../../helpers/records.ts'
import { startRelay } from '../../helpers/relay.ts'
import { tempDir } from '../../helpers/temp-dir.ts'

/** The findings for these URLs. */
async function check(url: string, listenUrl: string | null = null) {
  const app = { config: { records: { url, listenUrl, pool: 2 } } } as App
  return checkPostgres(app, new AbortController().signal)
}

it('measures the server, and its clock against that of this machine', async () => {
  const { url } = testDatabase()!
  const found = await diagnose({ url, listenUrl: null, pool: 1 })
  expect(found).toMatchObject({
    isolation: 'serializable',
    isPooled: false,
    isListenPooled: false,
    unsafe: ['fsync', 'full_page_writes', 'synchronous_commit'],
  })
  expect(Number.parseInt(found.version)).toBeGreaterThanOrEqual(13)
  expect(found.roundTrip).toBeGreaterThan(0)
  expect(found.notification).toBeGreaterThan(0)
  // Same machine, same clock: they differ by what a busy machine adds to a round trip.
  expect(Math.abs(found.clock)).toBeLessThan(60_000)
})

it('warns of settings that lose changes in a crash, and of a distant server', async () => {
  const { url } = testDatabase()!
  const { searchParams, pathname } = new URL(url)
  const relay = await startRelay(`${searchParams.get('host')}/.s.PGSQL.5432`, { slow: 30 })
  onTestFinished(() => relay.stop())
  const findings = await check(`postgres://pagecache@127.0.0.1:${relay.port}${pathname}`)
  expect(findings.map(({ status }) => status)).toEqual(['warned', 'warned', 'passed'])
  expect(findings[0]!.message).toBe(
    'fsync, full_page_writes, synchronous_commit are off: a crash of the server loses changes that were acknowledged.',
  )
  expect(findings[1]!.message).toMatch(/^A round trip takes \d+\.\d ms\.$/)
  await relay.set('refusing')
  const [away] = await check(`postgres://pagecache:canary@127.0.0.1:${relay.port}${pathname}`)
  expect(away).toMatchObject({ status: 'failed', message: expect.stringContaining('is unreachable') as string })
  expect(JSON.stringify(away)).not.toContain('canary')
})

it.runIf(hasPgbouncer)(
  'notices a connection pooler, before which listenUrl must be set, and behind which nothing is heard',
  async () => {
    const { url } = testDatabase()!
    const pooler = await startPgbouncer(url, await tempDir())
    onTestFinished(async () => void (await pooler.stop()))
    // On a busy machine, round trips are slow too.
    const checkPooler = async (listenUrl: string | null) =>
      (await check(pooler.url, listenUrl)).filter(({ name }) => name !== 'postgresql')
    const alone = await checkPooler(null)
    expect(alone.map(({ name, status }) => [name, status])).toEqual([
      ['connection pooler', 'failed'],
      ['postgresql notifications', 'warned'],
    ])
    expect(alone[1]!.message).toContain('through a connection pooler')
    expect(await checkPooler(url)).toMatchObject([{ name: 'postgresql notifications', status: 'passed' }])

    const postgres = { url: pooler.url, listenUrl: url, pool: 3 }
    const records = await openRecords({ directory: '', postgres, now: Date.now })
    onTestFinished(() => records.close())
    const queue = openQueue(records, Date.now)
    const messages = [1, 2, 3].map((payload) => ({ transport: 'async', type: 'a', payload, group: 'g' }) as const)
    await queue.dispatch(messages)
    const worker = await queue.join({ kind: 'consumer', transports: ['async'], types: ['a'] })
    const [first] = await worker.claim(new Map([['a', 3]]), 3)
    expect(first).toMatchObject({ payload: 1 })
    expect(await worker.take(first!)).toMatchObject({ payload: 2 })
  },
)

it.runIf(hasPgbouncer).each([
  ['of one connection', { default_pool_size: 1 }, true],
  ['of two that take turns', { default_pool_size: 2, server_round_robin: 1 }, true],
  ['of sessions', { pool_mode: 'session' }, false],
])('judges a pool %s', async (_, settings, isPooled) => {
  const { url } = testDatabase()!
  const pooler = await startPgbouncer(url, await tempDir(), settings)
  onTestFinished(async () => void (await pooler.stop()))
  const found = await diagnose({ url: pooler.url, listenUrl: null, pool: 1 })
  expect([found.isPooled, found.isListenPooled, found.notification === null]).toEqual([isPooled, isPooled, isPooled])
})

it.runIf(hasPgbouncer)('says that a pool of sessions has too few connections, and does not wait for ever', async () => {
  const pooler = await startPgbouncer(testDatabase()!.url, await tempDir(), {
    pool_mode: 'session',
    default_pool_size: 1,
  })
  onTestFinished(async () => void (await pooler.stop()))
  expect(await check(pooler.url)).toMatchObject([{ status: 'failed' }])
})
