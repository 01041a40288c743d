import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import type { ByteBudget } from '../../src/lib/byte-budget.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import type { CacheSettings } from '../../src/cache/build.ts'
import { inFlight } from '../../src/cache/in-flight.ts'
import type { StreamedBody } from '../../src/cache/visit.ts'
import { openSite, shopUrl } from './site.ts'
import { until } from '../helpers/until.ts'

/** A body without repetition. */
const body = Buffer.from(Array.from({ length: 400_000 }, (_, number) => `${number};`).join(''))
const fields = { 'Cache-Control': 'public, s-maxage=60', ETag: '"a"', 'Content-Type': 'image/png' }

/** Every test must release its budgets. */
afterEach(() => {
  const left = Object.values(inFlight).map((budget: ByteBudget) => budget.used + budget.waiting)
  if (left.some((count) => count > 0)) throw new Error('a budget was not released')
})

/** A site that has stored `/a`. `reads` lists the store calls that open or read bodies afterwards. */
async function open(changes: Partial<CacheSettings> = {}, reply: Record<string, string> = fields) {
  const site = await openSite({ maxPageSize: 16 << 20, ...changes })
  onTestFinished(() => site.close())
  site.answers({ fields: reply, body })
  await site.visit('/a', { fields: { 'Accept-Encoding': 'br' } })
  await isStored(site.store)
  site.answers({ status: 500, body: 'unexpected request' })
  const reads: string[] = []
  for (const name of ['openBody', 'readBody'] as const) {
    const original = site.store[name].bind(site.store) as (page: never) => Promise<never>
    site.store[name] = (page: never) => {
      reads.push(name)
      return original(page)
    }
  }
  return { site, reads }
}

describe.each([
  ['a large page', {}],
  ['a page without a memory tier', { memory: 0 }],
])('%s', (_, changes) => {
  it('is read completely, in pieces', async () => {
    const { site, reads } = await open(changes)
    for (let visit = 0; visit < 2; visit++) {
      const answer = await site.visit('/a')
      expect(answer.body.equals(body)).toBe(true)
      expect(answer.field('content-length')).toBe(String(body.length))
      expect(answer.field('cache-status')).toMatch(/^pagecache; hit/)
    }
    expect(reads).toEqual(['openBody', 'openBody'])
  })

  it.each([
    ['304 by its tag', { fields: { 'If-None-Match': '"a"' } }, 304],
    ['HEAD', { method: 'HEAD' }, 200],
    ['416', { fields: { Range: 'bytes=99999999-' } }, 416],
  ])('a %s reads only the index', async (__, options, status) => {
    const { site, reads } = await open(changes)
    const answer = await site.visit('/a', options)
    expect([answer.status, answer.body.length, reads]).toEqual([status, 0, []])
    if (status === 200) expect(answer.field('content-length')).toBe(String(body.length))
  })

  it.each([
    [0, 0],
    [1, 65_535],
    [65_535, 65_536],
    [65_536, 131_071],
    [70_000, 200_001],
    [body.length - 1, body.length - 1],
    [0, body.length - 1],
  ])('bytes %i to %i are read from their pieces', async (start, end) => {
    const { site, reads } = await open(changes)
    const answer = await site.visit('/a', { fields: { Range: `bytes=${start}-${end}` } })
    expect([answer.status, answer.field('content-range'), answer.field('content-length')]).toEqual([
      206,
      `bytes ${start}-${end}/${body.length}`,
      String(end - start + 1),
    ])
    expect(answer.body.equals(body.subarray(start, end + 1))).toBe(true)
    expect(reads).toEqual(['openBody'])
  })

  it('serves its last bytes', async () => {
    const { site } = await open(changes)
    expect((await site.visit('/a', { fields: { Range: 'bytes=-5' } })).text).toBe(body.subarray(-5).toString())
  })

  it('stores no 206 whose body is shorter than its Content-Range', async () => {
    const { site } = await open(changes)
    site.answers({ status: 206, fields: { ...fields, 'Content-Range': 'bytes 4-9/10' }, body: Buffer.from('01234') })
    const first = await site.visit('/short', { fields: { Range: 'bytes=-5' } })
    expect([first.status, first.text]).toEqual([206, '01234'])
    const second = await site.visit('/short', { fields: { Range: 'bytes=-5' } })
    expect(String(new Headers(second.headers as [string, string][]).get('cache-status'))).toContain(
      'the range has a different length than its Content-Range',
    )
  })

  // The cases of the public conformance suite, with a range as long as their body.
  it.each([
    ['bytes=-5', 'bytes 4-8/9', '01234'],
    ['bytes=6-8', 'bytes 6-8/9', '234'],
    ['bytes=6-', 'bytes 6-8/9', '234'],
    ['bytes=-1', 'bytes 8-8/9', '4'],
  ])('serves %s from a stored part with the last bytes', async (range, is, text) => {
    const { site } = await open(changes)
    site.answers({ status: 206, fields: { ...fields, 'Content-Range': 'bytes 4-8/9' }, body: Buffer.from('01234') })
    await site.visit('/part', { fields: { Range: 'bytes=-5' } })
    site.answers({ status: 500 })
    const answer = await site.visit('/part', { fields: { Range: range } })
    expect([answer.status, answer.field('content-range'), answer.text]).toEqual([206, is, text])
    expect(answer.field('cache-status')).toContain('hit')
  })

  it('serves a range from a stored 206', async () => {
    const { site } = await open(changes)
    const part = body.subarray(1000, 1_500_000)
    site.answers({
      status: 206,
      fields: { ...fields, 'Content-Range': `bytes 1000-1499999/${body.length}` },
      body: part,
    })
    await site.visit('/b', { fields: { Range: 'bytes=1000-1499999' } })
    await isStored(site.store, '/b')
    site.answers({ status: 500 })
    const answer = await site.visit('/b', { fields: { Range: 'bytes=70000-140000' } })
    expect([answer.status, answer.body.equals(body.subarray(70_000, 140_001))]).toEqual([206, true])
  })

  it('a purge while it is sent: the reader gets the rest, other visitors a new page', async () => {
    const { site } = await open(changes)
    const pieces = streamed(await ask(site))
      .pieces(() => {})
      [Symbol.asyncIterator]()
    const read = [Buffer.from((await pieces.next()).value as Buffer)]
    await site.store.remove({ kind: 'urls', urls: [`${shopUrl}/a`] })
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next())
      read.push(Buffer.from(next.value))
    expect(Buffer.concat(read).equals(body)).toBe(true)
    site.answers({ fields, body: 'new' })
    expect((await site.visit('/a')).text).toBe('new')
  })

  it('damage at the start is a miss, later damage cuts the response, and both drop the page', async () => {
    const { site } = await open(changes)
    for (const at of [10, 1_000_000]) {
      await damage(site.directory, at)
      site.answers({ fields, body })
      if (at === 10) expect((await site.visit('/a')).body.equals(body)).toBe(true)
      else await expect(site.visit('/a')).rejects.toThrow()
      expect(site.store.damaged()).toBe(at === 10 ? 1 : 2)
      if (at === 10) await isStored(site.store)
      expect((await site.visit('/a')).body.equals(body)).toBe(true)
    }
    expect(site.origin.requests).toHaveLength(3)
  })

  it('a validation does not read the body', async () => {
    const { site, reads } = await open(changes)
    site.wait(70)
    site.answers({ status: 304, fields })
    expect((await site.visit('/a', { fields: { 'If-None-Match': '"a"' } })).status).toBe(304)
    expect(reads).toEqual([])
    expect((await site.visit('/a')).body.equals(body)).toBe(true)
  })

  it('a discarded body releases its budget', async () => {
    const { site } = await open(changes)
    const answer = streamed(await ask(site))
    expect(inFlight.bodies.used).toBeGreaterThan(0)
    answer.discard()
  })
})

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

/** Waits for the store, which may be slower than the response. */
async function isStored(store: PageStore, path = '/a'): Promise<void> {
  await until(() => expect(store.findByUrl(`${shopUrl}${path}`).length).toBe(1))
}

async function ask(site: Awaited<ReturnType<typeof open>>['site'], target = '/a') {
  return site.cache.answer({
    method: 'GET',
    scheme: 'http',
    host: 'shop.example',
    target,
    headers: [],
    remoteAddress: null,
    forwardedFor: null,
    body: null,
    signal: new AbortController().signal,
    onInterim: () => {},
  })
}

function streamed({ body: sent }: Awaited<ReturnType<typeof ask>>): StreamedBody {
  return sent as StreamedBody
}

/** Alters a byte of each stored body. */
async function damage(directory: string, at: number): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/[/\\]bodies[/\\]/.test(entry.parentPath + '/')) continue
    const path = join(entry.parentPath, entry.name)
    const bytes = await readFile(path)
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    await writeFile(path, bytes)
  }
}
