import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { deliverType } from '../../src/purge/deliver/message.ts'
import { hasWorkerFor, readStatistics } from '../../src/queue/statistics.ts'
import { exchange } from '../helpers/exchange.ts'
import { openRecords } from '../helpers/records.ts'
import { until } from '../helpers/until.ts'
import { begin, id, openConfigured, serveSlowly, textOf } from './slow-shop.ts'

describe('SIGHUP', () => {
  const reloaded = (daemon: { logs(): string }, times = 1) =>
    until(() => daemon.logs().split('The configuration was reloaded').length > times)

  it('a proxy that is no longer trusted loses its trust on open connections too', async () => {
    const { daemon, write } = await openConfigured({ trustedProxies: ['127.0.0.1'] })
    const { host, port } = new URL(daemon.url)
    const socket = connect(Number(port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const event = JSON.stringify({ popupId: id, eventType: 'close' })
    const ask = async () => {
      socket.write(
        `POST /vendor-stage/track HTTP/1.1\r\nHost: proxy.internal\r\nX-Forwarded-Host: ${host}\r\nContent-Length: ${event.length}\r\n\r\n${event}`,
      )
      return String((await once(socket, 'data'))[0]).slice(0, 12)
    }
    expect(await ask()).toBe('HTTP/1.1 404')
    await write({ trustedProxies: [] })
    daemon.kill('SIGHUP')
    await reloaded(daemon)
    expect(await ask()).toBe('HTTP/1.1 421')
  })

  it('applies the configuration, and active requests finish with the previous one', async () => {
    const { origin, daemon, write } = await openConfigured()
    const film = serveSlowly({ origin }, '/film')
    const response = await begin(`${daemon.url}/film`)
    expect((await exchange(`${daemon.url}/private/a`)).headers.get('cache-status')).toContain('fwd=miss')
    // A page that waits to be stored is not found after a reload.
    await until(async () =>
      String((await exchange(`${daemon.url}/metrics`)).body).includes('pagecache_pages_waiting_bytes 0'),
    )
    await write({ cache: { bypass: { paths: ['/private'] } } })
    daemon.kill('SIGHUP')
    await reloaded(daemon)
    expect((await exchange(`${daemon.url}/private/a`)).headers.get('cache-status')).toContain('fwd=bypass')
    film.end()
    expect(await textOf(response)).toBe('beginning end')
    await write()
    daemon.kill('SIGHUP')
    await reloaded(daemon, 2)
    // Stored before the first reload, and served from the same store after the second.
    expect((await exchange(`${daemon.url}/private/a`)).headers.get('cache-status')).toContain('hit')
    expect(await daemon.stop()).toBe(0)
  })

  it('leaves no moment without a worker for deliveries', async () => {
    const { daemon } = await openConfigured()
    const records = await openRecords({ directory: join(daemon.projectDir, 'var/data/prod'), now: Date.now })
    onTestFinished(() => records.close())
    const isWorking = () => hasWorkerFor(records.db, deliverType, Date.now())
    await until(isWorking)
    const workers = async () => (await readStatistics(records.db, Date.now())).workers.map((worker) => worker.id)
    for (let round = 0; round < 3; round += 1) {
      const before = new Set(await workers())
      daemon.kill('SIGHUP')
      while ((await workers()).some((worker) => before.has(worker))) {
        expect(await isWorking()).toBe(true)
        await nextTurn()
      }
      expect(await isWorking()).toBe(true)
    }
  })

  it('an invalid configuration changes nothing, and every error is logged', async () => {
    const { daemon, raw } = await openConfigured()
    await raw('cache: { memory: plenty }\nserver: { nonsense: 1 }\n')
    daemon.kill('SIGHUP')
    await until(() => daemon.logs().includes('was not reloaded'))
    expect(daemon.logs()).toMatch(/cache\.memory.*server\.nonsense|server\.nonsense.*cache\.memory/s)
    expect((await exchange(`${daemon.url}/a`)).status).toBe(200)
    await raw('{{{ no yaml')
    daemon.kill('SIGHUP')
    await until(() => daemon.logs().split('was not reloaded').length > 2)
    expect((await exchange(`${daemon.url}/a`)).status).toBe(200)
  })

  it('loses no page that waits to be stored', async () => {
    const { origin, daemon } = await openConfigured()
    const index = new Database(join(daemon.projectDir, 'var/cache/prod/pages/index.sqlite'))
    onTestFinished(() => void index.close())
    index.exec('BEGIN IMMEDIATE')
    const paths = ['/a', '/b', '/c']
    for (const path of paths)
      expect((await exchange(daemon.url + path)).headers.get('cache-status')).toContain('stored')
    daemon.kill('SIGHUP')
    await reloaded(daemon)
    expect(index.prepare('SELECT count(*) FROM page').pluck().get()).toBe(0)
    index.exec('COMMIT')
    await until(() => index.prepare('SELECT count(*) FROM page').pluck().get() === paths.length)
    for (const path of paths) {
      expect((await exchange(daemon.url + path)).headers.get('cache-status')).toContain('hit')
      expect(origin.hits(path)).toBe(1)
    }
  })

  it('is ignored while stopping', async () => {
    const { origin, daemon } = await openConfigured()
    const film = serveSlowly({ origin }, '/film')
    const response = await begin(`${daemon.url}/film`)
    daemon.kill('SIGTERM')
    await until(() =>
      exchange(`${daemon.url}/readyz`).then(
        (answer) => answer.status !== 200,
        () => true,
      ),
    )
    daemon.kill('SIGHUP')
    film.end()
    expect(await textOf(response)).toBe('beginning end')
    expect(await daemon.ended).toBe(0)
    expect(daemon.logs()).not.toContain('was reloaded')
  })

  it('a missing configuration file is an error, not an empty configuration', async () => {
    const { daemon, remove } = await openConfigured()
    await remove()
    daemon.kill('SIGHUP')
    await until(
      () => daemon.logs().includes('was not reloaded') || daemon.logs().includes('The configuration was reloaded'),
    )
    expect(daemon.logs()).toContain('no longer exists')
    expect((await exchange(`${daemon.url}/a`)).status).toBe(200)
  })
})
