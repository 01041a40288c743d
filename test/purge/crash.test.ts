import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { PagecacheError } from '../../src/errors.ts'
import type { Invalidation } from '../../src/purge/invalidation.ts'
import { listInvalidations } from '../../src/purge/log/invalidation-log.ts'
import { listRecent, readUrlFlow } from '../../src/purge/log/purge-log.ts'
import { readPurgeStatistics } from '../../src/purge/log/statistics.ts'
import { lockRecords } from '../helpers/lock-records.ts'
import { onPostgres } from '../helpers/on-postgres.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { draft, store } from '../stores/pages.ts'
import type { Step } from './crash-child.ts'
import { openPurges } from './purges.ts'
import { until } from '../helpers/until.ts'

const range = { limit: 50, offset: 0 }
const byTag: Invalidation = { targets: [{ scope: 'tags', tags: ['t'] }], soft: false, source: 'cli', actor: null }

/** Purges the tag `t` in another process that is killed at the step; returns its answer, null if it was killed before. */
async function purgeIn(directory: string, step: Step): Promise<unknown> {
  const child = fork(fileURLToPath(new URL('crash-child.ts', import.meta.url)), [directory, step], { execArgv: [] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let value: unknown = null
  child.on('message', (message) => (value = message))
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  expect({ step, code, signal }).toEqual({
    step,
    code: step === 'none' ? 0 : null,
    signal: step === 'none' ? null : 'SIGKILL',
  })
  return value
}

const steps: readonly Step[] = ['intended', 'removed', 'recording', 'recorded', 'releasing']

describe('a purge whose process is killed', () => {
  it.each(steps)('at the step %s is carried out once at the next start', async (step) => {
    const directory = await tempDir()
    const first = await openPurges({ directory, now: Date.now })
    await store(first.pages, 'a', { tags: ['t'], deleteAt: Date.now() + 60_000 })
    await first.purging.close()
    const answer = await purgeIn(directory, step)
    // Pages are released after the answer.
    if (step !== 'releasing') expect(answer).toBeNull()

    const { pages, records } = await openPurges({ directory, now: Date.now, proxies: ['varnish-1'] })
    expect(pages.find(draft('a').key)).toEqual([])
    const { total, items } = await listRecent(records.db, range)
    expect(total).toBe(1)
    expect(items).toMatchObject([{ kind: 'tag', tag: 't', proxies: [{ name: 'varnish-1', status: 'pending' }] }])
    expect(await records.db.selectFrom('queue_messages').select('type').execute()).toEqual([{ type: 'purge.deliver' }])
    expect((await listInvalidations(records.db, range)).items).toMatchObject([{ scope: 'tags', value: 't' }])
    expect((await readPurgeStatistics(records.db, Date.now())).overview).toMatchObject({
      totalPurges: 1,
      distinctTags: 1,
    })
    expect(await records.db.selectFrom('invalidations').select('intent').execute()).toEqual([{ intent: null }])
    expect((await readUrlFlow(records.db, draft('a').url, range)).items).toMatchObject([{ tag: 't', pagesRemoved: 1 }])
    expect(pages.unreleased(Infinity)).toEqual([])
  })

  it('is carried out by a running daemon', async () => {
    const { directory, pages } = await openPurges({ now: Date.now })
    await store(pages, 'a', { tags: ['t'], deleteAt: Date.now() + 60_000 })
    await purgeIn(directory, 'intended')
    await until(() => expect(pages.find(draft('a').key)).toEqual([]))
  })
})

it('a purge in another process takes effect in this one', async () => {
  const { directory, pages } = await openPurges({ now: Date.now })
  await store(pages, 'a', { tags: ['t'], deleteAt: Date.now() + 60_000 })
  const fence = pages.fence()
  expect(await purgeIn(directory, 'none')).toMatchObject({ pagesRemoved: 1 })
  expect(pages.find(draft('a').key)).toEqual([])
  expect(await pages.put(draft('a', { tags: ['t'] }), Buffer.from('old'), fence)).toBe('invalidated')
})

describe('records that cannot be written', () => {
  it('locked by another process: the pages are removed, and the error says that no proxy will receive the purge', async () => {
    const { directory, purging, pages, records } = await openPurges()
    await store(pages, 'a', { tags: ['t'] })
    const unlock = await lockRecords(join(directory, 'data'))
    await expect(purging.invalidate(byTag)).rejects.toMatchObject({
      code: 'STORE_BUSY',
      status: 503,
      message: expect.stringMatching(/removed 1 page here.*repeat it/) as string,
    })
    await unlock()
    expect(pages.find(draft('a').key)).toEqual([])
    await purging.invalidate(byTag)
    expect((await listRecent(records.db, range)).total).toBe(1)
  })

  it.skipIf(onPostgres)('full disk: the purge fails, and later ones succeed', async () => {
    const { purging, pages, records } = await openPurges()
    await store(pages, 'a', { tags: ['t'] })
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(records.db)
    await sql.raw(`pragma max_page_count = ${rows[0]!.page_count}`).execute(records.db)
    const tags = Array.from({ length: 5_000 }, (_, n) => `tag-${n}`)
    await expect(
      purging.invalidate({ ...byTag, targets: [{ scope: 'tags', tags: ['t', ...tags] }] }),
    ).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect(pages.find(draft('a').key)).toEqual([])
    await sql.raw('pragma max_page_count = 1000000').execute(records.db)
    expect(await purging.invalidate(byTag)).toMatchObject({ pagesRemoved: 0 })
  })

  it('failing halfway: the caller gets the error, and the purge is carried out later', async () => {
    let fail = true
    const dispatch = () => {
      if (fail) throw new PagecacheError('STORE_FULL', 'no room')
      return Promise.resolve(1)
    }
    const { purging, pages, records } = await openPurges({ proxies: ['varnish-1'], queue: { dispatch } })
    await store(pages, 'a', { tags: ['t'] })
    await expect(purging.invalidate(byTag)).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect((await listRecent(records.db, range)).total).toBe(0)
    fail = false
    await purging.catchUp()
    expect((await listRecent(records.db, range)).items).toMatchObject([{ tag: 't', proxies: [{ status: 'pending' }] }])
  })
})
