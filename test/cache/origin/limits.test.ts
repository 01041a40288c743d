import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { CacheSettings } from '../../../src/cache/build.ts'
import { Slots, type SlotLimits } from '../../../src/cache/origin/slots.ts'
import { VisitorLeft } from '../../../src/cache/visit.ts'
import { classifyUrl } from '../../../src/cache/classify-url.ts'
import type { Reply } from '../scripted-origin.ts'
import { openSite, shopUrl } from '../site.ts'
import { until } from '../../helpers/until.ts'

const page = { fields: { 'Cache-Control': 'public, max-age=60' }, body: 'the page' }

/** A site whose shop answers on `release`, in the order of its requests. */
async function openSlow(limits: SlotLimits, changes: Partial<CacheSettings> = {}) {
  const site = await openSite({ limits, ...changes })
  onTestFinished(() => site.close())
  const waiting: ((reply: Reply) => void)[] = []
  site.answers(() => new Promise<Reply>((resolve) => waiting.push(resolve)))
  return {
    site,
    arrived: (count: number) => until(() => expect(site.origin.requests).toHaveLength(count)),
    counts: () => site.cache.origin.counts,
    release: (reply: Reply = page) => waiting.shift()!(reply),
  }
}

const roomy: SlotLimits = { maxConcurrent: 2, queue: 2, queueTimeout: 60_000 }

describe('a shop with as many visitors as it may have', () => {
  it('gets the next one when another is answered, in the order in which they came', async () => {
    const { site, arrived, release, counts } = await openSlow(roomy)
    const visits: ReturnType<typeof site.visit>[] = []
    for (const path of ['/a', '/account/b', '/c', '/account/d']) {
      visits.push(site.visit(path))
      // A page that may be stored takes longer to reach the shop than one that bypasses the cache.
      await until(() => expect(counts().active + counts().waiting).toBe(visits.length))
    }
    await arrived(2)
    expect(counts()).toEqual({ active: 2, waiting: 2, rejected: 0 })
    for (let count = 3; count <= 4; count++) {
      release()
      await arrived(count)
    }
    release()
    release()
    expect((await Promise.all(visits)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(site.origin.requests.map(({ target }) => target)).toEqual(['/a', '/account/b', '/c', '/account/d'])
    expect(counts()).toEqual({ active: 0, waiting: 0, rejected: 0 })
  })

  it('refuses those who find the queue full, with a time to come back', async () => {
    const { site, arrived, release, counts } = await openSlow({ ...roomy, queue: 0 })
    const visits = [site.visit('/a'), site.visit('/b')]
    await arrived(2)
    for (const path of ['/c', '/account/c']) {
      const refused = await site.visit(path)
      expect([refused.status, refused.field('retry-after'), refused.field('cache-control')]).toEqual([
        503,
        '5',
        'no-store',
      ])
      expect(refused.field('cache-status')).toContain('origin overloaded')
    }
    expect(counts().rejected).toBe(2)
    release()
    release()
    await Promise.all(visits)
    expect(site.origin.requests).toHaveLength(2)
  })

  it('refuses those who have waited too long, and only those', async () => {
    const { site, arrived, release, counts } = await openSlow({ maxConcurrent: 1, queue: 5, queueTimeout: 50 })
    const first = site.visit('/a')
    await arrived(1)
    expect((await site.visit('/b')).status).toBe(503)
    release()
    expect((await first).status).toBe(200)
    expect(counts()).toEqual({ active: 0, waiting: 0, rejected: 1 })
  })

  it('serves a stale page where it may', async () => {
    const { site, arrived, release } = await openSlow({ maxConcurrent: 1, queue: 0, queueTimeout: 1000 })
    const stored = site.visit('/a')
    await arrived(1)
    release()
    await stored
    site.wait(100)
    const busy = site.visit('/account/b')
    await arrived(2)
    const stale = await site.visit('/a')
    expect([stale.status, stale.text]).toEqual([200, 'the page'])
    expect(stale.field('cache-status')).toContain('stale, origin overloaded')
    release()
    await busy
  })

  it('is asked once for a page that many wait for', async () => {
    const { site, arrived, release, counts } = await openSlow({ maxConcurrent: 1, queue: 1, queueTimeout: 60_000 })
    const first = site.visit('/account/a')
    await arrived(1)
    const crowd = Array.from({ length: 20 }, () => site.visit('/b'))
    await until(() => expect(counts().waiting).toBe(1))
    release()
    await arrived(2)
    release()
    expect(new Set((await Promise.all([first, ...crowd])).map(({ status }) => status))).toEqual(new Set([200]))
  })

  it('refuses all who waited for one page too long', async () => {
    const { site, arrived, release, counts } = await openSlow({ maxConcurrent: 1, queue: 5, queueTimeout: 50 })
    const first = site.visit('/account/a')
    await arrived(1)
    const refused = await Promise.all(Array.from({ length: 20 }, () => site.visit('/b')))
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]))
    expect(refused.map((answer) => answer.field('retry-after'))).toEqual(Array(20).fill('5'))
    expect(counts()).toEqual({ active: 1, waiting: 0, rejected: 1 })
    release()
    await first
    expect(site.origin.requests).toHaveLength(1)
  })

  it('forgets a visitor who leaves the queue', async () => {
    const { site, arrived, release, counts } = await openSlow({ maxConcurrent: 1, queue: 1, queueTimeout: 60_000 })
    const first = site.visit('/a')
    await arrived(1)
    const leaving = new AbortController()
    const left = site.visit('/account/b', { signal: leaving.signal })
    await until(() => expect(counts().waiting).toBe(1))
    leaving.abort(new VisitorLeft())
    await expect(left).rejects.toBeInstanceOf(VisitorLeft)
    expect(counts()).toEqual({ active: 1, waiting: 0, rejected: 0 })
    release()
    await first
  })
})

describe('a warmup', () => {
  const lookupOf = (site: Awaited<ReturnType<typeof openSlow>>['site'], path: string) => {
    const classified = classifyUrl(`${shopUrl}${path}`, {}, new AbortController().signal, site.cache.classifying)
    if (classified?.kind !== 'lookup') throw new Error(`${path} is not looked up`)
    return classified.lookup
  }

  it('takes only what visitors leave, and no visitor waits for it', async () => {
    const { site, arrived, release, counts } = await openSlow({ maxConcurrent: 2, queue: 0, queueTimeout: 1000 })
    const never = new AbortController().signal
    const { origin } = site.cache
    const held = await origin.room(site.origin.url, never)
    const first = site.visit('/account/a')
    await arrived(1)
    let admitted = false
    const next = origin.room(site.origin.url, never).then((slot) => ((admitted = true), slot))
    const second = site.visit('/account/b')
    await arrived(2)
    expect(counts().active).toBe(2)
    held.leave()
    release()
    await first
    expect(admitted).toBe(true)
    release()
    await second
    ;(await next).leave()
  })

  it('waits until visitors are gone, or it is aborted', async () => {
    const { site, arrived, release } = await openSlow({ maxConcurrent: 1, queue: 0, queueTimeout: 1000 })
    const first = site.visit('/account/a')
    await arrived(1)
    const aborting = new AbortController()
    const waiting = site.cache.origin.room(site.origin.url, aborting.signal)
    aborting.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
    const patient = site.cache.origin.room(site.origin.url, new AbortController().signal)
    release()
    await first
    const slot = await patient
    const warmed = site.cache.warm(lookupOf(site, '/w'), new AbortController().signal, slot)
    await arrived(2)
    release()
    expect((await warmed)?.status).toBe(200)
    slot.leave()
  })
})

it('a response counts no longer than five seconds after its head', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const slots = new Slots({ maxConcurrent: 1, queue: 2, queueTimeout: 60_000 })
  onTestFinished(() => slots.close())
  const admitted: string[] = []
  const enter = (name: string) => slots.enter({ admitted: () => admitted.push(name), refused: () => {} })
  const stream = enter('stream')
  enter('second')
  enter('third')
  vi.advanceTimersByTime(30_000)
  expect(admitted).toEqual(['stream'])
  stream.answering()
  vi.advanceTimersByTime(4900)
  expect(admitted).toEqual(['stream'])
  vi.advanceTimersByTime(200)
  expect(admitted).toEqual(['stream', 'second'])
  stream.leave()
  expect(slots.counts).toEqual({ active: 1, waiting: 1, rejected: 0 })
})
