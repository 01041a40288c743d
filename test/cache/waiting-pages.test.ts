import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Gathering } from '../../src/pages/gathering.ts'
import { classifyUrl } from '../../src/cache/classify-url.ts'
import type { CacheSettings } from '../../src/cache/build.ts'
import { placesIn } from '../../src/pages/places.ts'
import { openSite, shopUrl, type Site } from './site.ts'
import { openPages } from '../stores/pages.ts'
import { until } from '../helpers/until.ts'

const fields = { 'Cache-Control': 'public, s-maxage=60', ETag: '"a"', xkey: 'product-1' }

/** A site whose writer cannot write until `release`: the index is locked. */
async function openLocked(changes: Partial<CacheSettings> = {}) {
  const site = await openSite(changes, { writer: true })
  onTestFinished(() => site.close())
  site.answers({ fields, body: 'old' })
  const holder = new Database(placesIn(site.directory).index)
  holder.exec('BEGIN IMMEDIATE')
  const release = () => {
    if (holder.open) holder.exec('COMMIT')
    holder.close()
  }
  onTestFinished(release)
  return { site, release }
}

/** Warms `/a`. */
function warm({ cache }: Site) {
  const { signal } = new AbortController()
  const classified = classifyUrl(`${shopUrl}/a`, {}, signal, cache.classifying)
  if (classified?.kind !== 'lookup') throw new Error('not a page')
  return cache.warm(classified.lookup, signal)
}

describe('while the store cannot write', () => {
  it('a visitor gets the page, and the next one gets it from memory', async () => {
    const { site, release } = await openLocked()
    const first = await site.visit('/a')
    expect(first.field('cache-status')).toMatch(/fwd=miss.*stored/)
    const second = await site.visit('/a')
    expect(second).toMatchObject({ hot: true, text: 'old' })
    expect(site.store.counters().products.count).toBe(0)
    release()
    await site.store.settled({ kind: 'all' })
    expect(site.store.counters().products.count).toBe(1)
    expect((await site.visit('/a')).hot).toBe(true)
    expect(site.origin.requests).toHaveLength(1)
  })

  it('a page that left memory is served from the queue, in every coding', async () => {
    const html = '<p>A shoe like any other.</p>'.repeat(100)
    // Room for some twenty pages in memory.
    const { site } = await openLocked({ memory: 65_536 })
    site.answers({ fields: { ...fields, 'Content-Type': 'text/html' }, body: html })
    await site.visit('/a')
    for (let n = 0; n < 60; n += 1) await site.visit(`/b${n}`)
    for (const coding of ['zstd', 'br', 'gzip', 'identity']) {
      const answer = await site.visit('/a', { fields: { 'Accept-Encoding': coding } })
      expect(answer.field('cache-status')).toMatch(/hit/)
      expect(answer.field('content-encoding')).toBe(coding === 'identity' ? null : coding)
    }
    expect((await site.visit('/a')).text).toBe(html)
    expect(site.origin.requests).toHaveLength(61)
  })

  it('a crowd of visitors costs one request to the shop, and none waits for the store', async () => {
    const { site } = await openLocked()
    const answers = await Promise.all(Array.from({ length: 50 }, () => site.visit('/a')))
    expect(answers.map(({ text }) => text)).toEqual(Array(50).fill('old'))
    expect(site.origin.requests).toHaveLength(1)
  })

  it('visitors of a stale page cost one request to the shop', async () => {
    const { site } = await openLocked()
    site.answers({ fields: { 'Cache-Control': 'max-age=10, stale-while-revalidate=600' }, body: 'old' })
    await site.visit('/a')
    site.wait(20)
    site.answers({ fields: { 'Cache-Control': 'max-age=10, stale-while-revalidate=600' }, body: 'new' })
    const answers = await Promise.all(Array.from({ length: 50 }, () => site.visit('/a')))
    expect(answers.map(({ text }) => text)).toEqual(Array(50).fill('old'))
    await until(async () => expect((await site.visit('/a')).text).toBe('new'))
    expect(site.origin.requests).toHaveLength(2)
  })

  it('a queue that is half full waits for no further pages', async () => {
    const hurry = vi.spyOn(Gathering.prototype, 'hurry')
    onTestFinished(() => hurry.mockRestore())
    const { site, release } = await openLocked({ maxPageSize: 2 ** 21 })
    site.answers({ fields, body: 'x'.repeat(2 ** 20) })
    hurry.mockClear()
    for (const target of ['/p0', '/p1', '/p2']) await site.visit(target)
    expect(hurry).not.toHaveBeenCalled()
    await site.visit('/p3')
    expect(hurry).toHaveBeenCalled()
    release()
  })

  it('pages beyond the queue are served and not stored, and say so', async () => {
    const { site, release } = await openLocked({ maxPageSize: 2 ** 21 })
    site.answers({ fields, body: 'x'.repeat(2 ** 20) })
    let answer = await site.visit('/p0')
    for (let n = 1; n <= 8; n += 1) answer = await site.visit(`/p${n}`)
    expect(answer.field('cache-status')).toMatch(/detail="too many pages wait to be stored"/)
    expect(answer.body).toHaveLength(2 ** 20)
    expect(site.store.unstored()).toBe(1)
    release()
    await site.store.settled({ kind: 'all' })
    expect((await site.visit('/p8')).field('cache-status')).toMatch(/stored/)
  })

  it('a warmup that joined the fetch of a page beyond the queue stores the page itself', async () => {
    const { site, release } = await openLocked({ maxPageSize: 2 ** 21 })
    const reply = { fields, body: 'x'.repeat(2 ** 20) }
    site.answers(reply)
    for (let n = 0; n < 8; n += 1) await site.visit(`/p${n}`)
    const { promise, resolve } = Promise.withResolvers<typeof reply>()
    site.answers(() => promise)
    const visit = site.visit('/a')
    await until(() => expect(site.origin.requests).toHaveLength(9))
    const warming = warm(site)
    resolve(reply)
    expect((await visit).field('cache-status')).toMatch(/detail="too many pages wait to be stored"/)
    release()
    expect((await warming)!.notStored).toBeNull()
    expect(site.origin.requests).toHaveLength(10)
  })

  it('a warmup waits until its page is stored', async () => {
    const { site, release } = await openLocked()
    let isWarm = false
    const warming = warm(site).then((fetched) => {
      isWarm = true
      return fetched
    })
    await until(() => expect(site.store.waiting().pages).toBe(1))
    expect((await site.visit('/a')).text).toBe('old')
    expect(isWarm).toBe(false)
    release()
    expect((await warming)!.notStored).toBeNull()
    expect(site.store.counters().products.count).toBe(1)
  })
})

it('a purge by another process while a page is fetched leaves nothing for the next visitor', async () => {
  const site = await openSite({}, { writer: true })
  onTestFinished(() => site.close())
  const { pages: other } = await openPages({ directory: site.directory, now: site.now })
  for (let round = 0; round < 30; round += 1) {
    // Nothing else is requested meanwhile, so this process has not looked at the index since.
    site.answers(async () => {
      await other.remove(round % 2 === 0 ? { kind: 'tags', tags: ['product-1'] } : { kind: 'all' })
      return { fields, body: `old ${round}` }
    })
    expect((await site.visit('/a')).text).toBe(`old ${round}`)
    site.answers({ fields, body: `new ${round}` })
    expect((await site.visit('/a')).text).toBe(`new ${round}`)
    await other.remove({ kind: 'urls', urls: [`${shopUrl}/a`] })
  }
  await site.store.settled({ kind: 'all' })
  expect(site.store.counters().products.count).toBe(0)
})

it('a purge by another process removes a page from memory and from the queue', async () => {
  const site = await openSite({}, { writer: true })
  onTestFinished(() => site.close())
  const { pages: other } = await openPages({ directory: site.directory, now: site.now })
  for (let round = 0; round < 30; round += 1) {
    site.answers({ fields, body: `old ${round}` })
    expect((await site.visit('/a')).text).toBe(`old ${round}`)
    await other.remove({ kind: 'tags', tags: ['product-1'] })
    site.answers({ fields, body: `new ${round}` })
    expect((await site.visit('/a')).text).toBe(`new ${round}`)
    await other.remove({ kind: 'urls', urls: [`${shopUrl}/a`] })
  }
  await site.store.settled({ kind: 'all' })
  expect(site.store.counters().products.count).toBe(0)
})
