import { describe, expect, it } from 'vitest'
import { classifyUrl } from '../../src/cache/classify-url.ts'
import { shopUrl, type Site } from './site.ts'
import { crowd, openSlow } from './slow-site.ts'

describe('a warmup and visitors', () => {
  /** Warms a page as `signal` allows. */
  function warm(site: Site, signal: AbortSignal) {
    const classified = classifyUrl(`${shopUrl}/a`, {}, signal, site.cache.classifying)
    if (classified?.kind !== 'lookup') throw new Error('not a page')
    return site.cache.warm(classified.lookup, signal)
  }

  it.each([
    ['a missing', 0],
    ['a stale', 1],
  ])('a warmup of %s page is cancelled: one visitor fetches it for the others', async (_, before) => {
    const { site, arrived, release } = await openSlow()
    if (before === 1) {
      const first = site.visit('/a')
      await arrived(1)
      release({ fields: { 'Cache-Control': 'max-age=10' }, body: 'old' })
      await first
      site.wait(20)
    }
    const cancelling = new AbortController()
    const warming = warm(site, cancelling.signal)
    await arrived(before + 1)
    const visits = crowd(50, () => site.visit('/a'))
    cancelling.abort(new Error('cancelled'))
    await expect(warming).rejects.toThrow('cancelled')
    await arrived(before + 2)
    release()
    const answers = await Promise.all(visits)
    expect(answers.map((answer) => answer.text)).toEqual(Array(50).fill('the page'))
    expect(answers.filter((answer) => answer.field('cache-status')?.includes('collapsed'))).toHaveLength(49)
    expect(site.origin.requests).toHaveLength(before + 2)
  })

  it('a warmup that joined a fetch ends when it is cancelled, and the visitor still gets the page', async () => {
    const { site, arrived, release } = await openSlow()
    const visit = site.visit('/a')
    await arrived(1)
    const cancelling = new AbortController()
    const warming = warm(site, cancelling.signal)
    cancelling.abort(new Error('cancelled'))
    const late = new Promise((resolve) => setTimeout(resolve, 500, 'still waiting'))
    await expect(Promise.race([warming, late])).rejects.toMatchObject({ name: 'OriginError', message: 'cancelled' })
    release()
    expect((await visit).text).toBe('the page')
    expect(site.origin.requests).toHaveLength(1)
  })

  it('a warmup gets the error of the fetch that it joined', async () => {
    const { site, arrived, release } = await openSlow()
    const visit = site.visit('/a')
    await arrived(1)
    const warming = warm(site, new AbortController().signal)
    release({ breaks: 'before' })
    await arrived(2)
    release({ breaks: 'before' })
    await expect(warming).rejects.toMatchObject({ name: 'OriginError', failure: 'unreachable' })
    expect((await visit).status).toBe(502)
    expect(site.origin.requests).toHaveLength(2)
  })
})
