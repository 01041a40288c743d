import { mkdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startDaemon } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { listRecent } from '../../src/purge/log/purge-log.ts'
import { openPurges } from '../purge/purges.ts'
import { draft, store } from '../stores/pages.ts'
import { until } from '../helpers/until.ts'

const tags = Array.from({ length: 150 }, (_, n) => `t${n}`)

/** A connection that sends purges in sequence and records which tags were acknowledged. */
function purgeOn(port: number, next: () => string | undefined, onAnswered: (tag: string) => void): Promise<void> {
  return new Promise((resolve) => {
    const socket: Socket = connect(port, '127.0.0.1')
    let tag: string | undefined
    const send = () => {
      tag = next()
      if (tag === undefined) socket.end()
      else socket.write(`PURGE / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nxkey: ${tag}\r\n\r\n`)
    }
    let received = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text
      if (!/\r\n\r\n.*Invalidated \d+ objects$/s.test(received)) return
      if (received.startsWith('HTTP/1.1 200 ')) onAnswered(tag!)
      received = ''
      send()
    })
    socket
      .on('connect', send)
      .on('error', () => {})
      .on('close', () => resolve())
  })
}

describe('a daemon that is killed while it handles purges', () => {
  it.each([1, 20, 90])(
    'after %i answers has lost no acknowledged purge, and serves none of the purged pages',
    async (answers) => {
      const projectDir = await tempDir()
      const places = { cache: join(projectDir, 'var/cache/prod'), data: join(projectDir, 'var/data/prod') }
      for (const path of Object.values(places)) await mkdir(path, { recursive: true })
      const { pages, purging, records } = await openPurges({ places, now: Date.now })
      for (const tag of tags) await store(pages, tag, { tags: [tag], deleteAt: Date.now() + 3_600_000 })
      await purging.close()
      await pages.close()
      await records.close()

      const origin = await startOrigin()
      onTestFinished(() => origin.stop())
      const daemon = await startDaemon({
        projectDir,
        config: { reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: 'http://127.0.0.1:9' }] },
        args: ['--origin', origin.url, '--no-workers'],
      })
      onTestFinished(async () => void (await daemon.stop()))
      const answered: string[] = []
      let next = 0
      const storm = Array.from({ length: 32 }, () =>
        purgeOn(
          daemon.port,
          () => tags[next++],
          (tag) => {
            answered.push(tag)
            if (answered.length === answers) daemon.kill('SIGKILL')
          },
        ),
      )
      await Promise.all(storm)
      await daemon.ended
      expect(answered.length).toBeGreaterThanOrEqual(answers)

      // The next process completes the purges that the killed one had begun.
      const after = await openPurges({ places, now: Date.now, proxies: ['varnish-1'] })
      const { total, items } = await listRecent(after.records.db, { limit: 1_000, offset: 0 })
      const logged = items.map(({ tag }) => tag!)
      expect(answered.filter((tag) => !logged.includes(tag))).toEqual([])
      expect(new Set(logged).size).toBe(total)
      for (const tag of logged) expect(after.pages.find(draft(tag).key)).toEqual([])
      expect(items.every(({ pagesRemoved }) => pagesRemoved === 1)).toBe(true)
      expect(items.every(({ proxies }) => proxies[0]?.name === 'varnish-1' && proxies[0].status === 'pending')).toBe(
        true,
      )
      expect(
        await after.records.db.selectFrom('invalidations').select('id').where('intent', 'is not', null).execute(),
      ).toEqual([])
      expect((await after.records.db.selectFrom('queue_messages').select('key').execute()).length).toBe(1)
    },
  )
})

it('a daemon that is killed while its thread delivers: the next one delivers every purge that was answered', async () => {
  const origin = await startOrigin()
  const received = new Set<string>()
  const proxy = await startOrigin({
    otherwise: ({ headers }) => {
      for (const tag of String(headers['xkey']).split(' ')) received.add(tag)
      return { body: 'taken' }
    },
  })
  onTestFinished(async () => void (await Promise.all([origin.stop(), proxy.stop()])))
  const projectDir = await tempDir()
  const start = () =>
    startDaemon({
      projectDir,
      config: { reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: proxy.url }] },
      args: ['--origin', origin.url],
    })
  const answered: string[] = []
  for (const [round, answers] of [5, 40, 110].entries()) {
    const daemon = await start()
    onTestFinished(async () => void (await daemon.stop()))
    let next = 0
    await Promise.all(
      Array.from({ length: 32 }, () =>
        purgeOn(
          daemon.port,
          () => (next < tags.length ? `${round}-${tags[next++]}` : undefined),
          (tag) => {
            answered.push(tag)
            if (answered.filter((each) => each.startsWith(`${round}-`)).length === answers) daemon.kill('SIGKILL')
          },
        ),
      ),
    )
    await daemon.ended
  }
  const last = await start()
  onTestFinished(async () => void (await last.stop()))
  await until(() => expect(answered.filter((tag) => !received.has(tag))).toEqual([]))
})

it('while another process holds the lock of the records, visitors are served and purges are answered 503', async () => {
  const origin = await startOrigin({
    otherwise: () => ({
      headers: { 'cache-control': 'public, s-maxage=600', 'content-type': 'text/html', xkey: 'other' },
      body: 'a page',
    }),
  })
  onTestFinished(() => origin.stop())
  const daemon = await startDaemon({ args: ['--origin', origin.url, '--no-workers'] })
  onTestFinished(async () => void (await daemon.stop()))
  const hit = async () => (await fetch(`${daemon.url}/page`)).headers.get('cache-status')
  await until(async () => /hit/.test((await hit())!))
  const records = new Database(join(daemon.projectDir, 'var/data/prod/records.sqlite'))
  onTestFinished(() => void records.close())
  records.exec('BEGIN IMMEDIATE')
  let open = true
  const purges = Promise.all(
    Array.from({ length: 8 }, () => fetch(daemon.url, { method: 'PURGE', headers: { xkey: 'some' } })),
  ).finally(() => (open = false))
  let hits = 0
  while (open) {
    expect(await hit()).toMatch(/hit/)
    hits += 1
  }
  for (const answer of await purges) expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
  // A daemon that waited for the lock itself would answer one at most.
  expect(hits).toBeGreaterThan(3)
  records.exec('ROLLBACK')
  expect((await fetch(daemon.url, { method: 'PURGE', headers: { xkey: 'other' } })).status).toBe(200)
  expect(await hit()).not.toMatch(/; hit/)
})
