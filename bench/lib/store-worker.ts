/** Program, run by `bench/store.ts`: fills a page store, or measures a filled one. */
import { hash } from 'node:crypto'
import { linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openFilesystemStore } from '../../src/pages/filesystem-store.ts'
import { openPages } from '../../src/pages/clear.ts'
import type { PageDraft } from '../../src/pages/page.ts'
import { newBodyFile } from '../../src/pages/body-files.ts'
import { placesIn } from '../../src/pages/places.ts'
import { insertPage } from '../../test/helpers/insert-page.ts'
import { pageDraft } from './page-draft.ts'
import { median } from './statistics.ts'

export interface Measured {
  pages: number
  fillSeconds: number
  rssMegabytes: number
  openMilliseconds: number
  findMicroseconds: number
  pollMicroseconds: number
  countersMicroseconds: number
  putMicroseconds: number
  purgeMilliseconds: number
  clearTypeMilliseconds: number
  clearMilliseconds: number
}

/** File systems limit the hard links to one file; ext4 to 65,000. */
const namesPerFile = 50_000
const body = Buffer.from('<!doctype html><title>A page of the bench</title>'.repeat(4))
const [part, directory, count] = process.argv.slice(2) as [string, string, string]
const pages = Number(count)

process.send!(part === 'fill' ? fill() : await measure())
process.disconnect()

function draft(n: number): PageDraft {
  const url = `http://shop.example/detail/${hash('sha1', String(n), 'hex')}`
  const tags = [`product-${n}`, `category-${n % 1_000}`, `percent-${n % 100}`]
  return pageDraft(n, { key: `c1 ${url}\ncookie sw-currency=EUR`, url, tags, originalSize: body.length })
}

/** Inserts pages with the store's own statements, many per transaction. Bodies are hard links to a few files, which saves minutes. */
function fill(): Partial<Measured> {
  const started = performance.now()
  const places = placesIn(directory)
  const index = openPages(places, console.warn)
  const digest = hash('sha256', body, 'buffer')
  for (let shard = 0; shard < 256; shard += 1) {
    mkdirSync(join(places.bodies, shard.toString(16).padStart(2, '0')), { mode: 0o700 })
  }
  let source = ''
  for (let first = 0; first < pages; first += 5_000) {
    index.write(() => {
      for (let n = first; n < Math.min(pages, first + 5_000); n += 1) {
        const page = draft(n)
        const file = newBodyFile(page.key)
        const path = join(places.bodies, file)
        if (n % namesPerFile === 0) writeFileSync((source = path), body, { mode: 0o600 })
        else linkSync(source, path)
        insertPage(index, page, { file, fileSize: body.length, at: 0, size: body.length, digest })
      }
    })
  }
  index.close()
  return { pages, fillSeconds: (performance.now() - started) / 1_000 }
}

async function measure(): Promise<Partial<Measured>> {
  const opened = performance.now()
  const store = await openFilesystemStore({ directory, maxSize: null, now: Date.now, onWarning: console.warn })
  const openMilliseconds = performance.now() - opened
  const keys = Array.from({ length: 20_000 }, (_, n) => draft((n * 7_919) % pages).key)
  const findMicroseconds = each(keys, (key) => store.find(key))
  const countersMicroseconds = each(keys, () => store.counters())
  const pollMicroseconds = await eachCallback(() => store.poll())
  globalThis.gc!()
  const rssMegabytes = process.memoryUsage.rss() / 2 ** 20
  const putMicroseconds = await storeSome(store)
  const purgeMilliseconds = await timed(() => store.remove({ kind: 'tags', tags: ['percent-7'] }))
  const clearTypeMilliseconds = await timed(() => store.remove({ kind: 'type', type: 'cms' }))
  const clearMilliseconds = await timed(() => store.remove({ kind: 'all' }))
  await store.close()
  return {
    openMilliseconds,
    findMicroseconds,
    countersMicroseconds,
    pollMicroseconds,
    rssMegabytes,
    putMicroseconds,
    purgeMilliseconds,
    clearTypeMilliseconds,
    clearMilliseconds,
  }
}

/** The time per call: the median over rounds of a thousand calls. */
function each(keys: readonly string[], work: (key: string) => unknown): number {
  const rounds: number[] = []
  for (let first = 0; first < keys.length; first += 1_000) {
    const started = performance.now()
    for (const key of keys.slice(first, first + 1_000)) work(key)
    rounds.push(performance.now() - started)
  }
  return median(rounds)
}

/** The time per call, the first one in a callback of the event loop: a store looks for other processes once in each. */
async function eachCallback(work: () => unknown): Promise<number> {
  const times: number[] = []
  for (let call = 0; call < 5_000; call += 1) {
    await new Promise<void>((resolve) => process.nextTick(resolve))
    const started = performance.now()
    work()
    times.push(performance.now() - started)
  }
  return median(times) * 1_000
}

/** Stores sixteen pages concurrently, like a warmup. */
async function storeSome(store: Awaited<ReturnType<typeof openFilesystemStore>>): Promise<number> {
  const many = 2_000
  const milliseconds = await timed(async () => {
    let next = pages
    const work = async () => {
      while (next < pages + many) await store.put(draft((next += 1)), body, store.fence())
    }
    await Promise.all(Array.from({ length: 16 }, work))
  })
  return (milliseconds * 1_000) / many
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}
