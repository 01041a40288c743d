import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import type { OriginResponse } from '../../src/cache/origin.ts'
import { Budget, BudgetShare } from '../../src/cache/body.ts'
import { Parts } from '../../src/cache/parts.ts'
import { releaseSentPieces } from '../../src/cache/pieces.ts'
import type { HeaderPair } from '../../src/pages/page.ts'
import { random } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'
import type { Fields, OriginRequest, Reply } from './scripted-origin.ts'
import { openSite, shopUrl, toVisit } from './site.ts'

const digits = '0123456789'
const page = { 'Cache-Control': 'max-age=3600', ETag: '"a"', xkey: 'file' }

function part(start: number, end: number, fields: Fields = page, whole = digits): Reply {
  const body = whole.slice(start, end + 1)
  return { status: 206, fields: { ...fields, 'Content-Range': `bytes ${start}-${end}/${whole.length}` }, body }
}

/** A cache that has the first bytes of a file. `rest`: the shop's response to a request for the rest. */
async function openPart(
  rest: Reply,
  {
    settings = {},
    first = part(0, 3),
    writer = false,
  }: { settings?: Partial<CacheSettings>; first?: Reply; writer?: boolean } = {},
) {
  const site = await openSite(settings, { writer })
  onTestFinished(() => site.close())
  const answer = ({ fields }: OriginRequest) =>
    fields.has('if-range') ? rest : fields.has('range') ? first : { fields: page, body: 'the whole' }
  site.answers(answer)
  expect((await site.visit('/f', { fields: { Range: 'bytes=0-3' } })).status).toBe(206)
  return { site, ranges: () => site.origin.requests.map(({ fields }) => fields.get('range') ?? 'whole') }
}

it.each([
  ['another ETag', part(4, 9, { ...page, ETag: '"b"' })],
  ['no ETag', part(4, 9, { 'Cache-Control': 'max-age=3600', xkey: 'file' })],
  ['another size', part(4, 10, page, `${digits}!`)],
  ['another range', part(5, 9)],
  ['less than the rest', part(4, 8)],
  ['several ranges', { status: 206, fields: { ...page, 'Content-Type': 'multipart/byteranges' }, body: '-' }],
  ['a coded range', part(4, 9, { ...page, 'Content-Encoding': 'gzip' })],
  ['a range without tags', part(4, 9, { 'Cache-Control': 'max-age=3600', ETag: '"a"' })],
  ['416', { status: 416, fields: { 'Content-Range': 'bytes */2' } }],
])('the whole page is requested where the shop answers with %s', async (_, rest) => {
  const { site, ranges } = await openPart(rest)
  const answer = await site.visit('/f')
  expect([answer.status, answer.text, answer.field('content-range')]).toEqual([200, 'the whole', null])
  expect(ranges()).toEqual(['bytes=0-3', 'bytes=4-', 'whole'])
  expect((await site.visit('/f')).text).toBe('the whole')
  expect(ranges()).toHaveLength(3)
})

it.each([
  ['breaks off', { ...part(4, 9), breaks: 'within' as const }],
  [
    'is shorter than it says',
    { ...part(4, 9), fields: { ...part(4, 9).fields, 'Transfer-Encoding': 'chunked' }, body: '3\r\n456\r\n0\r\n\r\n' },
  ],
])('a page whose rest %s is not stored', async (_, rest) => {
  const { site } = await openPart(rest)
  expect((await site.visit('/f')).status).toBe(502)
  expect(site.store.findByUrl(`${shopUrl}/f`).map(({ range }) => range?.end)).toEqual([3])
})

it('an error instead of the rest is an error', async () => {
  const { site, ranges } = await openPart({ status: 503 })
  expect((await site.visit('/f')).status).toBe(503)
  expect(ranges()).toEqual(['bytes=0-3', 'bytes=4-'])
})

it('a part that was purged is not completed', async () => {
  const { site, ranges } = await openPart(part(4, 9))
  await site.store.remove({ kind: 'tags', tags: ['file'] })
  expect((await site.visit('/f')).text).toBe('the whole')
  expect(ranges()).toEqual(['bytes=0-3', 'whole'])
})

it('a completed page is purged by its tags, and not stored after a purge during its fetch', async () => {
  const { site } = await openPart(part(4, 9), { writer: true })
  expect((await site.visit('/f')).text).toBe(digits)
  await until(async () => expect((await site.visit('/f')).field('cache-status')).toContain('hit'))
  await site.store.remove({ kind: 'tags', tags: ['file'] })
  expect((await site.visit('/f')).text).toBe('the whole')
  await site.store.remove({ kind: 'all' })
  site.answers(async ({ fields }) => {
    if (fields.has('if-range')) await site.store.remove({ kind: 'tags', tags: ['file'] })
    return fields.has('if-range') ? part(4, 9) : fields.has('range') ? part(0, 3) : { fields: page, body: 'the whole' }
  })
  await site.visit('/f', { fields: { Range: 'bytes=0-3' } })
  expect((await site.visit('/f')).text).toBe('the whole')
  expect((await site.visit('/f')).field('cache-status')).toContain('fwd=miss')
})

it('a page that is too large to be stored is completed for its visitor', async () => {
  const large = 'x'.repeat(3000)
  const { site, ranges } = await openPart(part(1000, 2999, page, large), {
    settings: { maxPageSize: 2000 },
    first: part(0, 999, page, large),
  })
  expect((await site.visit('/f')).text).toBe(large)
  expect(ranges()).toEqual(['bytes=0-3', 'bytes=1000-'])
})

it('a part that waits to be stored stays whole after it was sent', async () => {
  const large = random(3)
  const text = Array.from({ length: 300_000 }, () => String.fromCharCode(97 + Math.floor(large() * 26))).join('')
  const size = 100_000
  const { site } = await openPart(part(size, text.length - 1, page, text), {
    settings: { maxPageSize: 200_000 },
    first: part(0, size - 1, page, text),
    writer: true,
  })
  // As the daemon sends it: each piece is freed.
  const answer = await site.cache.answer(toVisit('/f'))
  let sent = ''
  const visitor = new Writable({ write: (piece: Buffer, _, done) => ((sent += piece.toString()), setImmediate(done)) })
  releaseSentPieces(answer.body as Readable, visitor)
  await pipeline(answer.body as Readable, visitor)
  expect(sent === text).toBe(true)
  const range = { fields: { Range: `bytes=0-${size - 1}` } }
  expect((await site.visit('/f', range)).text === text.slice(0, size)).toBe(true)
  await site.store.settled({ kind: 'all' })
  expect(site.store.findByUrl(`${shopUrl}/f`).map((stored) => stored.size)).toEqual([size])
})

it('a part that was compressed is completed, for others by their language', async () => {
  const text = 'word '.repeat(2000)
  const fields = { ...page, 'Content-Type': 'text/html', Vary: 'Accept-Language' }
  const { site, ranges } = await openPart(part(5000, 9999, fields, text), { first: part(0, 4999, fields, text) })
  const answer = await site.visit('/f')
  expect(answer.text).toBe(text)
  expect(answer.field('vary')).toContain('Accept-Language')
  expect(ranges()).toEqual(['bytes=0-3', 'bytes=5000-'])
  expect((await site.visit('/f', { fields: { 'Accept-Language': 'de' } })).text).toBe('the whole')
  expect(ranges()[2]).toBe('whole')
})

it('visitors who wait for a page share its completion', async () => {
  const { site, ranges } = await openPart(part(4, 9))
  const answers = await Promise.all(Array.from({ length: 20 }, () => site.visit('/f')))
  expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([digits]))
  expect(ranges()).toEqual(['bytes=0-3', 'bytes=4-'])
})

it('a page keeps the client states in which it must not be served', async () => {
  const fields = { ...page, 'sw-invalidation-states': 'logged-in' }
  const { site, ranges } = await openPart(part(4, 9), { first: part(0, 3, fields) })
  await site.visit('/f')
  expect(ranges()).toEqual(['bytes=0-3', 'bytes=4-', 'whole'])
  const named = await openPart(part(4, 9, fields), { first: part(0, 3, fields) })
  expect((await named.site.visit('/f')).text).toBe(digits)
  const other = await named.site.visit('/f', { fields: { Cookie: 'sw-states=logged-in' } })
  expect(other.field('cache-status')).not.toContain('hit')
})

it('no byte beyond its length is sent of a page whose rest is longer than it says', async () => {
  const { site } = await openPart(part(4, 9))
  const [stored] = site.store.findByUrl(`${shopUrl}/f`)
  const headers: HeaderPair[] = [
    ['ETag', '"a"'],
    ['xkey', 'file'],
    ['Content-Range', 'bytes 4-9/10'],
  ]
  const body = Readable.from([Buffer.from('456789'), Buffer.from('HTTP/1.1 200 OK')], { objectMode: false })
  const response = { status: 206, headers, body } as unknown as OriginResponse
  const missing = { start: 4, end: 9 }
  const completed = await new Parts(site.store, site.now).complete(
    { page: stored!, validator: ['etag', '"a"'], missing },
    response,
    new BudgetShare(new Budget(1_000)),
  )
  let sent = ''
  const read = async () => {
    for await (const chunk of completed!.body as AsyncIterable<Buffer>) sent += chunk.toString()
  }
  await expect(read()).rejects.toThrow('different length')
  expect(sent).toBe(digits)
  expect(body.destroyed).toBe(true)
})

it('parts that wait for their rest take no more memory than pages that are fetched', async () => {
  const large = 'x'.repeat(2000)
  const waiting = part(0, 99, page, large)
  const site = await openSite({ maxPageSize: 2000 })
  onTestFinished(() => site.close())
  site.answers(({ fields }) =>
    fields.has('if-range')
      ? { ...waiting, fields: { ...waiting.fields, 'Transfer-Encoding': 'chunked' }, body: '1\r\nx\r\n' }
      : fields.has('range')
        ? part(100, 1999, page, large)
        : { fields: page, body: 'the whole' },
  )
  const paths = Array.from({ length: 5 }, (_, number) => `/f${number}`)
  for (const path of paths) await site.visit(path, { fields: { Range: 'bytes=-1900' } })
  for (const path of paths.slice(0, 4)) site.visit(path).catch(() => {})
  await until(() => expect(site.origin.requests).toHaveLength(9))
  expect((await site.visit(paths[4]!)).text).toBe('the whole')
})

it('a page whose rest the shop calls private is not shared', async () => {
  const first = { ...page, 'CDN-Cache-Control': 'max-age=3600' }
  const { site } = await openPart(part(4, 9, { ...page, 'Cache-Control': 'private' }), { first: part(0, 3, first) })
  expect((await site.visit('/f')).text).toBe(digits)
  expect((await site.visit('/f')).field('cache-status')).not.toContain('hit')
})
