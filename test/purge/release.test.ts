import { expect, it } from 'vitest'
import { PagecacheError } from '../../src/errors.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import type { Invalidation } from '../../src/purge/invalidation.ts'
import { clearInvalidations } from '../../src/purge/log/prune.ts'
import { until } from '../helpers/until.ts'
import { store } from '../stores/pages.ts'
import { openPurges } from './purges.ts'

const byTag: Invalidation = { targets: [{ scope: 'tags', tags: ['t'] }], soft: false, source: 'cli', actor: null }

/** Purges whose releases fail until `recover` is called. */
async function openUnreleased() {
  let fails = true
  let attempts = 0
  const failing = (pages: PageStore): PageStore =>
    Object.assign(Object.create(pages) as PageStore, {
      remove: pages.remove.bind(pages),
      removeTogether: pages.removeTogether.bind(pages),
      unreleased: pages.unreleased,
      async release(traces: readonly number[]) {
        attempts += 1
        if (fails) throw new PagecacheError('STORE_BUSY', 'locked')
        await pages.release(traces)
      },
    })
  const { purging, pages, records } = await openPurges({ wrap: failing })
  await store(pages, 'a', { tags: ['t'] })
  expect(await purging.invalidate(byTag)).toMatchObject({ pagesRemoved: 1 })
  await until(() => attempts > 0)
  return { purging, pages, records, recover: () => (fails = false) }
}

it('the pages of a recorded purge whose release failed are released later', async () => {
  const { purging, pages, recover } = await openUnreleased()
  expect(pages.unreleased(Infinity)).toHaveLength(1)
  recover()
  await purging.catchUp()
  expect(pages.unreleased(Infinity)).toEqual([])
})

it('the pages of a purge that was deleted from the log are released', async () => {
  const { purging, pages, records, recover } = await openUnreleased()
  expect(await clearInvalidations(records)).toBe(1)
  recover()
  await purging.catchUp()
  expect(pages.unreleased(Infinity)).toEqual([])
})

it('the pages of a purge that is not recorded stay until it is', async () => {
  const { purging, pages, records, recover } = await openUnreleased()
  const [trace] = pages.unreleased(Infinity)
  await records.db.updateTable('invalidations').set({ trace: '[]' }).execute()
  recover()
  await purging.catchUp()
  expect(pages.unreleased(Infinity)).toEqual([trace])
  await records.db.updateTable('invalidations').set({ trace: null }).execute()
  await purging.catchUp()
  expect(pages.unreleased(Infinity)).toEqual([])
})
