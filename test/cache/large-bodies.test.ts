import { describe, expect, it } from 'vitest'
import { inFlight } from '../../src/cache/in-flight.ts'
import { shopUrl } from './site.ts'
import { ask, body, damage, fields, isStored, open, streamed, useBudgetCheck } from './large-site.ts'

useBudgetCheck()

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
