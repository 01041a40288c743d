/** Program, run by `bench/purge.ts`: purges in one process, without HTTP. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openFilesystemStore } from '../../src/pages/filesystem-store.ts'
import { openPurging } from '../../src/purge/purging.ts'
import { thisProcess } from '../../src/lib/process-identity.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import { openRecords } from '../../src/records/open.ts'
import { fillPages, pagesOfTag } from './fill-pages.ts'

export interface InProcess {
  oneByOne: number
  together: number
  large: { seconds: number; loopMilliseconds: number; rssMegabytes: number; tracedSeconds: number }
}

const [directory, tagCount, largeCount] = process.argv.slice(2) as [string, string, string]
const now = Date.now
const cache = join(directory, 'cache')
fillPages(cache, Number(tagCount), Number(largeCount))
const pages = await openFilesystemStore({ directory: cache, maxSize: null, now, onWarning: console.warn })
const records = await openRecords({ directory: join(directory, 'data'), now })
const purging = await openPurging({
  records,
  pages,
  queue: openQueue(records, now),
  now,
  proxies: [],
  owner: thisProcess(),
  followUp: null,
  budget: null,
  clearDirectory: () => Promise.resolve(0),
})

process.send!(await measure())
await purging.close()
await pages.close()
await records.close()
process.disconnect()

async function purge(tag: string, pageCount: number): Promise<void> {
  const { pagesRemoved } = await purging.invalidate({
    targets: [{ scope: 'tags', tags: [tag] }],
    soft: false,
    source: 'purge-method',
    actor: null,
  })
  if (pagesRemoved !== pageCount) throw new Error(`A purge removed ${pagesRemoved} pages instead of ${pageCount}`)
}

async function measure(): Promise<InProcess> {
  const half = Math.floor(Number(tagCount) / 2)
  const oneByOne = await rate(half, 0, 1)
  const together = await rate(half, half, 64)
  return { oneByOne, together, large: await purgeLarge() }
}

/** Purges per second, of tags with ten pages each. */
async function rate(count: number, first: number, atOnce: number): Promise<number> {
  let next = first
  const started = performance.now()
  const work = async () => {
    while (next < first + count) {
      await purge(`tag-${next++}`, pagesOfTag)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return (count / (performance.now() - started)) * 1_000
}

async function purgeLarge(): Promise<InProcess['large']> {
  globalThis.gc?.()
  await pause(200)
  const before = process.memoryUsage.rss()
  let [last, loop, rss] = [performance.now(), 0, before]
  const timer = setInterval(() => {
    loop = Math.max(loop, performance.now() - last - 5)
    last = performance.now()
    rss = Math.max(rss, process.memoryUsage.rss())
  }, 5)
  const started = performance.now()
  await purge('large', Number(largeCount))
  const seconds = (performance.now() - started) / 1_000
  for (;;) {
    const { open } = await records.db
      .selectFrom('invalidations')
      .select((eb) => eb.fn.count<number>('trace').as('open'))
      .executeTakeFirstOrThrow()
    if (open === 0) break
    await pause(20)
  }
  clearInterval(timer)
  const tracedSeconds = (performance.now() - started) / 1_000
  return { seconds, loopMilliseconds: loop, rssMegabytes: (rss - before) / 2 ** 20, tracedSeconds }
}
