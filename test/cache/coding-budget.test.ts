import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { encode } from '../../src/pages/codec.ts'
import type { Encoding } from '../../src/pages/page.ts'
import { Budget, passing, BudgetShare } from '../../src/cache/body.ts'
import { BodyEncoder } from '../../src/cache/body-encoder.ts'
import type { Received } from '../../src/cache/freshness.ts'
import { openSite, shopUrl } from './site.ts'

const KiB = 1024
const fields = { 'Cache-Control': 'public, s-maxage=60', 'Content-Type': 'text/html' }

function received(encoding: string): Received {
  return {
    status: 200,
    headers: [
      ['content-encoding', encoding],
      ['content-type', 'text/html'],
    ],
    requestedAt: 0,
    receivedAt: 0,
  } as unknown as Received
}

describe.each<Encoding>(['gzip', 'br', 'zstd'])('a %s body that decodes to a thousand times its size', (coding) => {
  it.each([
    ['the page size limit', 'limit', 512 * KiB, 64 * KiB * KiB],
    ['the memory budget', 'budget', 64 * KiB * KiB, 512 * KiB],
  ] as const)('is decoded no further once it exceeds %s', async (_, why, maxPageSize, room) => {
    const bomb = await encode(Buffer.alloc(32 * KiB * KiB), coding)
    const budget = new Budget(room)
    let most = 0
    const share = new (class extends BudgetShare {
      override take(bytes: number) {
        most += bytes
        return super.take(bytes)
      }
    })(budget)
    expect(await new BodyEncoder({ compression: true, maxPageSize }).encode(received(coding), bomb, share)).toBe(why)
    // Decoding stops with the first piece over the limit.
    expect(most).toBeLessThanOrEqual(512 * KiB + 128 * KiB)
    share.release()
    expect(budget.take(room)).toBe(true)
  })
})

it('sixty such bodies at once: each visitor gets the original, and the next page is stored', async () => {
  const site = await openSite()
  onTestFinished(() => site.close())
  const page = Buffer.alloc(900 * KiB, 'a')
  const coded = await encode(page, 'gzip')
  site.answers({ fields: { ...fields, 'Content-Encoding': 'gzip' }, body: coded })
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, number) => site.visit(`/${number}`, { fields: { 'Accept-Encoding': 'gzip' } })),
  )
  expect(answers.filter((answer) => answer.status === 200 && answer.body.equals(coded))).toHaveLength(60)
  expect((await site.visit('/next', { fields: { 'Accept-Encoding': 'gzip' } })).field('cache-status')).toMatch(/stored/)
})

it('without budget to encode a page it is passed on unencoded', async () => {
  const budget = new Budget(1000)
  const share = new BudgetShare(budget)
  share.take(900)
  const response = { ...received('identity') }
  expect(
    await new BodyEncoder({ compression: true, maxPageSize: 2000 }).encode(response, Buffer.alloc(900, 'a'), share),
  ).toBe('budget')
  share.release()
  expect(budget.take(1000)).toBe(true)
})

it.each<[string, (stream: Readable) => unknown]>([
  ['read', (stream) => buffer(stream)],
  ['never read', (stream) => stream.destroy()],
])('a collected body that is streamed and %s stays charged to the budget until then', async (_, end) => {
  const budget = new Budget(300 * KiB)
  const share = new BudgetShare(budget)
  share.take(300 * KiB)
  const stream = passing(Buffer.alloc(300 * KiB), share)
  expect(budget.take(1)).toBe(false)
  budget.giveBack(1)
  const closed = new Promise((resolve) => stream.once('close', resolve))
  await end(stream)
  await closed
  expect(budget.take(300 * KiB)).toBe(true)
})

it('a large page that reflects its visitor is passed on and not stored', async () => {
  const site = await openSite()
  onTestFinished(() => site.close())
  const mark = 'visitors-own-mark-0123456789'
  const page = Buffer.concat([Buffer.alloc(200 * KiB, 'a'), Buffer.from(mark)])
  site.answers({ fields, body: page })
  const answer = await site.visit('/a', { fields: { 'User-Agent': mark } })
  expect([answer.status, answer.body.equals(page)]).toEqual([200, true])
  expect(site.store.findByUrl(`${shopUrl}/a`)).toEqual([])
})
