import { expect, it } from 'vitest'
import type { PageStore } from '../../src/pages/page-store.ts'
import { draft, openPages, origin } from '../stores/pages.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'
import { forkScript } from './fork.ts'

type Report = { purged: number; waiting: number } | { stored: number }

/** Starts a serving process; `reports` are those of acknowledged purges and durable pages. */
function start(directory: string, prefix: string) {
  const { child, kill } = forkScript('writer-child.ts', [directory, prefix])
  const acknowledged = { purged: 0, stored: -1, waiting: 0 }
  child.on('message', (report: Report) => {
    Object.assign(acknowledged, report)
    if ('waiting' in report) acknowledged.waiting = Math.max(acknowledged.waiting, report.waiting)
  })
  return { acknowledged, kill }
}

/** The number of purges before the fetch of each stored page. */
async function versions(pages: PageStore, prefix: string): Promise<number[]> {
  const { items } = pages.list({ tag: prefix, limit: 10_000, offset: 0 })
  const bodies = await Promise.all(items.map((page) => pages.readBody(page)))
  return bodies.flatMap((body) => (body === null ? [] : [Number(body.toString().split(' ')[0])]))
}

it('processes killed with pages in their queues lose no acknowledged page and leave none from before a purge', async () => {
  const directory = await tempDir()
  const { pages } = await openPages({ directory, now: Date.now })
  let most = 0
  for (let round = 0; round < 3; round += 1) {
    const prefixes = [`one${round}-`, `two${round}-`]
    const children = prefixes.map((prefix) => start(directory, prefix))
    for (const { acknowledged } of children)
      await until(() => acknowledged.purged > 2 + round && acknowledged.stored >= 0)
    // While they run, a third process finds no page from before a purge that it knows to be acknowledged.
    for (const [at, prefix] of prefixes.entries()) {
      const { purged } = children[at]!.acknowledged
      for (const version of await versions(pages, prefix)) expect(version).toBeGreaterThanOrEqual(purged)
    }
    await Promise.all(children.map(({ kill }) => kill()))
    for (const [at, prefix] of prefixes.entries()) {
      const { purged, stored, waiting } = children[at]!.acknowledged
      most = Math.max(most, waiting)
      for (const version of await versions(pages, prefix)) expect(version).toBeGreaterThanOrEqual(purged)
      const [durable] = pages.findByUrl(`${origin}/${prefix}durable`)
      expect(Number(await pages.readBody(durable!))).toBeGreaterThanOrEqual(stored)
    }
  }
  // How many depends on the machine; without any, the kills would have tested nothing.
  expect(most).toBeGreaterThan(25)
  expect(pages.damaged()).toBe(0)
  const { total, items } = pages.list({ limit: 100_000, offset: 0 })
  expect(items).toHaveLength(total)
  expect(pages.counters().products.count).toBe(total)
  expect(pages.find(draft('never').key)).toEqual([])
})
