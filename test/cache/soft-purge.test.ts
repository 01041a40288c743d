import { expect, it, onTestFinished } from 'vitest'
import { until } from '../helpers/until.ts'
import type { Reply } from './scripted-origin.ts'
import { openSite } from './site.ts'

/** A page that was visited and then softly purged, while the shop already has its next version. */
async function purgedSoftly(cacheControl: string, grace: number) {
  const site = await openSite({ grace })
  onTestFinished(() => site.close())
  let next: Reply | null = null
  let count = 0
  site.answers(() => next ?? { fields: { 'Cache-Control': cacheControl, xkey: 'menu' }, body: `page ${++count}` })
  await site.visit('/a')
  site.wait(10)
  await site.store.remove({ kind: 'tags', tags: ['menu'] }, { soft: true })
  site.wait(1)
  return { site, answersWith: (reply: Reply) => void (next = reply) }
}

const day = 86_400_000

it('within the grace a visitor gets the stale page once more, and one request renews it', async () => {
  const { site } = await purgedSoftly('public, s-maxage=600', day)
  expect((await site.visit('/a')).text).toBe('page 1')
  await until(async () => (await site.visit('/a')).text === 'page 2')
  expect(site.origin.requests).toHaveLength(2)
})

it('a stale page says by its Age that it is stale, so that no cache on the way stores it as fresh', async () => {
  const { site } = await purgedSoftly('public, s-maxage=600', day)
  expect((await site.visit('/a', { isPurged: true })).field('age')).toBe('601')
  await until(async () => (await site.visit('/a')).text === 'page 2')
  expect((await site.visit('/a')).field('age')).toBe('0')
})

it.each(['public, s-maxage=600', 'public, max-age=600'])(
  'without a grace the next visitor waits for the new page (%s)',
  async (cacheControl) => {
    const { site } = await purgedSoftly(cacheControl, 0)
    expect((await site.visit('/a')).text).toBe('page 2')
  },
)

it('without a grace the shop says how long its page is served stale', async () => {
  const { site } = await purgedSoftly('public, s-maxage=600, stale-while-revalidate=5', 0)
  expect((await site.visit('/a')).text).toBe('page 1')
  const late = await purgedSoftly('public, s-maxage=600, stale-while-revalidate=5', 0)
  late.site.wait(5)
  expect((await late.site.visit('/a')).text).toBe('page 2')
})

it.each(['must-revalidate', 'proxy-revalidate', 'no-cache'])(
  'a page with %s is never served stale, also not while the shop fails',
  async (directive) => {
    const { site, answersWith } = await purgedSoftly(`public, s-maxage=600, ${directive}`, day)
    answersWith({ status: 503, fields: { 'Cache-Control': 'private' } })
    expect((await site.visit('/a')).status).toBe(503)
    answersWith({ breaks: 'before' })
    expect((await site.visit('/a')).status).toBe(502)
  },
)
