import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { PageStore } from '../../src/pages/page-store.ts'
import { draft, openPages, origin } from '../stores/pages.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'
import { forkScript } from './fork.ts'

type Report = { purged: number } | { stored: number } | { waiting: number }

/** Starts a serving process; `reported` are its last acknowledged purge, last durable page and last count of waiting pages. */
function start(directory: string, prefix: string) {
  const { child, kill } = forkScript('writer-child.ts', [directory, prefix])
  const reported = { purged: 0, stored: -1, waiting: 0 }
  child.on('message', (report: Report) => Object.assign(reported, report))
  return { reported, kill }
}

/** The number of purges before the fetch of each stored page. */
async function versions(pages: PageStore, prefix: string): Promise<number[]> {
  const { items } = pages.list({ tag: prefix, limit: 10_000, offset: 0 })
  const bodies = await Promise.all(items.map((page) => pages.readBody(page)))
  return bodies.flatMap((body) => (body === null ? [] : [Number(body.toString().split(' ')[0])]))
}

it('processes killed with thousands of pages in their queues lose no acknowledged page and leave none from before a purge', async () => {
  const directory = await tempDir()
  const { pages } = await openPages({ directory, now: Date.now })
  const waitingAtKills: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const prefixes = [`one${round}-`, `two${round}-`]
    const children = prefixes.map((prefix) => start(directory, prefix))
    for (const { reported } of children) await until(() => reported.purged > 2 && reported.stored >= 0)
    // While they run, a third process finds no page from before a purge that it knows to be acknowledged.
    for (const [at, prefix] of prefixes.entries()) {
      const { purged } = children[at]!.reported
      for (const version of await versions(pages, prefix)) expect(version).toBeGreaterThanOrEqual(purged)
    }
    await pause(Math.random() * 300)
    await Promise.all(children.map(({ kill }) => kill()))
    for (const [at, prefix] of prefixes.entries()) {
      const { purged, stored, waiting } = children[at]!.reported
      waitingAtKills.push(waiting)
      for (const version of await versions(pages, prefix)) expect(version).toBeGreaterThanOrEqual(purged)
      const [durable] = pages.findByUrl(`${origin}/${prefix}durable`)
      expect(Number(await pages.readBody(durable!))).toBeGreaterThanOrEqual(stored)
    }
  }
  expect(Math.max(...waitingAtKills)).toBeGreaterThan(2_000)
  expect(pages.damaged()).toBe(0)
  const { total, items } = pages.list({ limit: 100_000, offset: 0 })
  expect(items).toHaveLength(total)
  expect(pages.counters().products.count).toBe(total)
  expect(pages.find(draft('never').key)).toEqual([])
})
