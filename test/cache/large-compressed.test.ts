import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { inFlight } from '../../src/cache/in-flight.ts'
import { until } from '../helpers/until.ts'
import { ask, body, damage, fields, isStored, open, streamed, useBudgetCheck } from './large-site.ts'

useBudgetCheck()

describe('a large page that is stored compressed', () => {
  const html = { ...fields, 'Content-Type': 'text/html' }

  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
    ['identity', (coded: Buffer) => coded],
  ])('is sent in %s', async (coding, decode) => {
    const { site, reads } = await open({}, html)
    const answer = await site.visit('/a', { fields: { 'Accept-Encoding': coding } })
    expect(decode(answer.body).equals(body)).toBe(true)
    expect(answer.field('content-encoding') ?? 'identity').toBe(coding)
    expect(answer.field('content-length')).toBe(coding === 'identity' ? String(answer.body.length) : null)
    expect(reads.length).toBeLessThan(2)
  })

  it('is transcoded completely for sixty concurrent visitors', async () => {
    const { site } = await open({}, html)
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, number) =>
        site.visit('/a', { fields: { 'Accept-Encoding': number % 2 === 0 ? 'identity' : 'gzip' } }),
      ),
    )
    expect(
      answers.filter((answer, number) => (number % 2 === 0 ? answer.body : gunzipSync(answer.body)).equals(body)),
    ).toHaveLength(60)
  })

  it('occupies no transcoder while readers are slow, and delays no other visitor', async () => {
    const { site } = await open({}, html)
    for (const path of ['/b', '/c', '/d', '/e', '/f', '/g']) {
      site.answers({ fields: html, body })
      await site.visit(path, { fields: { 'Accept-Encoding': 'br' } })
      await isStored(site.store, path)
    }
    site.answers({ status: 500, body: 'unexpected request' })
    const slow = []
    for (const path of ['/a', '/b', '/c', '/d', '/e', '/f']) {
      const iterator = streamed(await ask(site, path)).pieces(() => expect.fail('a slow reader was disconnected'))
      const pieces = iterator[Symbol.asyncIterator]()
      slow.push({ pieces, read: [Buffer.from((await pieces.next()).value as Buffer)] })
    }
    expect((await site.visit('/g', { fields: { 'Accept-Encoding': 'identity' } })).body.equals(body)).toBe(true)
    await until(() => expect(inFlight.transcoders.used).toBe(0))
    for (const { pieces, read } of slow) {
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next())
        read.push(Buffer.from(next.value))
      expect(Buffer.concat(read).equals(body)).toBe(true)
    }
  })

  it('is transcoded once for all who read it at a time, and for a late one from its start', async () => {
    const { site, reads } = await open({}, html)
    const first = streamed(await ask(site))
    const second = streamed(await ask(site))
    for (const reader of [second, first]) {
      const read = []
      for await (const piece of reader.pieces(() => {})) read.push(Buffer.from(piece))
      expect(Buffer.concat(read).equals(body)).toBe(true)
    }
    expect(reads).toEqual(['openBody'])
    expect((await site.visit('/a', { fields: { 'Accept-Encoding': 'gzip' } })).status).toBe(200)
    expect(reads).toEqual(['openBody', 'openBody'])
  })

  it('ends the work and frees the file when its readers leave at any moment', async () => {
    const { site } = await open({}, html)
    streamed(await ask(site)).discard()
    for await (const _ of streamed(await ask(site)).pieces(() => {})) break
    await until(() => expect(inFlight.transcoders.used).toBe(0))
    expect(inFlight.spools.used).toBe(0)
    expect(await readdir(join(site.directory, 'pages/tmp'))).toEqual([])
  })

  it('comes from the shop when there is no space for a temporary file', async () => {
    const { site } = await open({}, html)
    site.store.openSpool = () => Promise.resolve(null)
    site.answers({ fields: html, body: 'from the shop' })
    expect((await site.visit('/a', { fields: { 'Accept-Encoding': 'identity' } })).text).toBe('from the shop')
  })

  it('is never sent altered: the response is cut, or comes from the shop when nothing was sent yet', async () => {
    const { site } = await open({}, html)
    await damage(site.directory, 100_000)
    const visit = site.visit('/a', { fields: { 'Accept-Encoding': 'identity' } })
    expect(
      await visit.then(
        ({ text }) => text,
        () => 'cut',
      ),
    ).toMatch(/^(cut|unexpected request)$/)
    expect(site.store.damaged()).toBe(1)
  })

  it('is sent whole when a range would require decoding it', async () => {
    const { site } = await open({}, html)
    const answer = await site.visit('/a', { fields: { Range: 'bytes=0-9', 'Accept-Encoding': 'br' } })
    expect([answer.status, brotliDecompressSync(answer.body).equals(body)]).toEqual([200, true])
  })
})
