import { rm } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { KnownKeys } from '../../src/pages/known-keys.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import { hashKey } from '../../src/pages/page-row.ts'
import { chance, pick, random } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'
import { bodyOf, draft, openPages, origin, store } from '../stores/pages.ts'
import { startOther, type OtherProcess } from './fork.ts'

const names = Array.from({ length: 40 }, (_, n) => `p${n}`)
const forEver = { deleteAt: Number.POSITIVE_INFINITY }

interface Stores {
  directory: string
  /** With known keys and a writer thread. */
  knowing: PageStore
  /** Asks the index each time. */
  asking: PageStore
  other: OtherProcess
}

const found = (pages: PageStore, name: string) => pages.find(draft(name).key).map(({ id }) => id)

/** Deletes all files; each store notices that in its own time. */
async function deleteAll({ directory, knowing, asking, other }: Stores) {
  const { generation } = asking.fence()
  await rm(`${directory}/pages`, { recursive: true, force: true, maxRetries: 10 })
  await until(() => ![knowing, asking].some((pages) => ['', generation].includes(pages.fence().generation)))
  let marks = 0
  await until(async () => {
    const name = `${generation} ${marks++}`
    await other.ask({ ask: 'put', name })
    return found(knowing, name).length > 0 && found(asking, name).length > 0
  })
}

const steps: ((stores: Stores, next: () => number) => Promise<unknown>)[] = [
  async ({ knowing }, next) => {
    for (let n = 0; n < 5; n++) {
      const name = pick(next, names)
      await knowing.take(draft(name, forEver), bodyOf(name), knowing.fence())
      expect(knowing.find(draft(name).key)).not.toEqual([])
    }
  },
  ({ knowing }, next) => store(knowing, pick(next, names), forEver),
  ({ asking }, next) => store(asking, pick(next, names), { ...forEver, vary: { 'x-a': pick(next, ['1', '2']) } }),
  ({ other }, next) => other.ask({ ask: 'put', name: pick(next, names) }),
  ({ knowing }, next) => knowing.remove({ kind: 'urls', urls: [`${origin}/${pick(next, names)}`] }),
  ({ asking }, next) => asking.remove({ kind: 'tags', tags: [`product-${pick(next, names)}`] }),
  ({ other }, next) =>
    other.ask({ ask: 'remove', selection: { kind: 'tags', tags: [`product-${pick(next, names)}`] } }),
  async ({ other }, next) =>
    chance(next, 0.3) ? other.ask({ ask: 'remove', selection: { kind: 'type', type: 'products' } }) : null,
  async ({ knowing, asking }, next) =>
    chance(next, 0.3) ? pick(next, [knowing, asking]).remove({ kind: 'all' }) : null,
  async ({ other }, next) => (chance(next, 0.2) ? other.ask({ ask: 'clearApplicationCache' }) : null),
  async (stores, next) => {
    if (!chance(next, 0.2)) return
    await stores.knowing.settled({ kind: 'all' })
    await deleteAll(stores)
  },
]

it.each([1, 2, 3])(
  'a store that knows its keys finds what one finds that asks the index each time, seed %i',
  async (seed) => {
    const next = random(seed)
    const known = new KnownKeys(0)
    const { pages: knowing, directory } = await openPages({ known, writer: true })
    const { pages: asking } = await openPages({ directory })
    const stores = { directory, knowing, asking, other: await startOther(directory) }
    let [absent, stored, readNow] = [0, 0, 0]
    for (let step = 0; step < 150; step++) {
      await pick(next, steps)(stores, next)
      // Often while the keys of a new index are still being read.
      if (chance(next, 0.5)) await until(() => known.isComplete, 1)
      await knowing.settled({ kind: 'all' })
      for (const name of names) {
        const ids = found(asking, name)
        expect(found(knowing, name), `${name} after step ${step}`).toEqual(ids)
        // It remembers pages, and returns null after slow reads.
        const read = knowing.readPage(draft(name).key, ([page]) => page ?? null)
        if (read !== null) expect([read.page.id, read.body]).toEqual([ids[0], bodyOf(name)])
        if (read !== null) readNow += 1
        if (ids.length > 0) stored += 1
        else if (!known.mayHold(hashKey(draft(name).key))) absent += 1
      }
    }
    expect(Math.min(absent, stored, readNow)).toBeGreaterThan(100)
  },
)
