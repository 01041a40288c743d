import Database from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import { PageIndex } from '../../src/pages/page-index.ts'
import { placesIn } from '../../src/pages/places.ts'
import { draft } from '../pages/draft.ts'
import { until } from '../helpers/until.ts'
import type { Reply } from './scripted-origin.ts'
import { openSite, shopUrl, type Site } from './site.ts'

const fields = { 'Cache-Control': 'public, s-maxage=60', ETag: '"a"', xkey: 'product-1' }

async function open(changes: Partial<CacheSettings>, options: { writer?: boolean } = {}): Promise<Site> {
  const site = await openSite(changes, options)
  onTestFinished(() => site.close())
  return site
}

/** A visit during which another page is purged, and then `meanwhile` happens. Resolves to what `Cache-Status` says. */
async function visitDuringPurge(site: Site, reply: Reply, meanwhile: () => unknown): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<Reply>()
  const asked = site.origin.requests.length
  site.answers(() => promise)
  const visit = site.visit('/a')
  await until(() => expect(site.origin.requests).toHaveLength(asked + 1))
  await site.store.remove({ kind: 'tags', tags: ['product-2'] })
  await meanwhile()
  resolve(reply)
  return (await visit).field('cache-status')
}

/** Prevents the store from writing until the end of the test. */
function lock({ directory }: Site): void {
  const holder = new Database(placesIn(directory).index)
  onTestFinished(() => void holder.close())
  holder.exec('BEGIN IMMEDIATE')
}

async function fillQueue({ store }: Site): Promise<void> {
  for (let n = 0, taken = true; taken; n += 1) {
    const outcome = await store.take(draft(`p${n}`), Buffer.alloc(2 ** 20), store.fence())
    taken = typeof outcome !== 'string'
  }
}

it('a purge of another page is not named as the reason when too many pages wait', async () => {
  const site = await open({}, { writer: true })
  const status = await visitDuringPurge(site, { fields, body: 'page' }, () => {
    lock(site)
    return fillQueue(site)
  })
  expect(status).toMatch(/detail="too many pages wait to be stored"/)
})

it('a page that memory does not take is not stored when too many pages wait', async () => {
  const site = await open({ memory: 0 }, { writer: true })
  site.answers({ fields, body: 'page' })
  lock(site)
  await fillQueue(site)
  const { pages } = site.store.waiting()
  expect((await site.visit('/a')).field('cache-status')).toMatch(/detail="too many pages wait to be stored"/)
  expect(site.store.waiting()).toMatchObject({ pages })
})

it('a purge of another page is not named as the reason when the store is busy', async () => {
  const site = await open({ memory: 0 })
  const status = await visitDuringPurge(site, { fields, body: 'page' }, () => lock(site))
  expect(status).toMatch(/detail="the store has no room or is busy"/)
})

it('a page that is evicted while the shop validates it is named as removed', async () => {
  const site = await open({})
  site.answers({ fields, body: 'page' })
  await site.visit('/a')
  site.wait(70)
  const status = await visitDuringPurge(site, { status: 304, fields }, () => {
    const index = new PageIndex(placesIn(site.directory))
    const [page] = site.store.findByUrl(`${shopUrl}/a`)
    index.write(() => index.writes.evict([page!.id], 'size'))
    index.close()
  })
  expect(status).toMatch(/detail="the stored page was removed while it was validated"/)
})
