import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished } from 'vitest'
import type { ByteBudget } from '../../src/lib/byte-budget.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import type { CacheSettings } from '../../src/cache/build.ts'
import { inFlight } from '../../src/cache/in-flight.ts'
import type { StreamedBody } from '../../src/cache/visit.ts'
import { openSite, shopUrl, toVisit } from './site.ts'
import { until } from '../helpers/until.ts'

/** A body without repetition. */
export const body = Buffer.from(Array.from({ length: 400_000 }, (_, number) => `${number};`).join(''))
export const fields = { 'Cache-Control': 'public, s-maxage=60', ETag: '"a"', 'Content-Type': 'image/png' }

/** Every test must release its budgets. */
export function useBudgetCheck(): void {
  afterEach(() => {
    const left = Object.values(inFlight).map((budget: ByteBudget) => budget.used + budget.waiting)
    if (left.some((count) => count > 0)) throw new Error('a budget was not released')
  })
}

/** A site that has stored `/a`. `reads` lists the store calls that open or read bodies afterwards. */
export async function open(changes: Partial<CacheSettings> = {}, reply: Record<string, string> = fields) {
  const site = await openSite({ maxPageSize: 16 << 20, ...changes })
  onTestFinished(() => site.close())
  site.answers({ fields: reply, body })
  await site.visit('/a', { fields: { 'Accept-Encoding': 'br' } })
  await isStored(site.store)
  site.answers({ status: 500, body: 'unexpected request' })
  const reads: string[] = []
  for (const name of ['openBody', 'readBody'] as const) {
    const original = site.store[name].bind(site.store) as (page: never) => Promise<never>
    site.store[name] = (page: never) => {
      reads.push(name)
      return original(page)
    }
  }
  return { site, reads }
}

/** Waits for the store, which may be slower than the response. */
export async function isStored(store: PageStore, path = '/a'): Promise<void> {
  await until(() => expect(store.findByUrl(`${shopUrl}${path}`).length).toBe(1))
}

export async function ask(site: Awaited<ReturnType<typeof open>>['site'], target = '/a') {
  return site.cache.answer(toVisit(target))
}

export function streamed({ body: sent }: Awaited<ReturnType<typeof ask>>): StreamedBody {
  return sent as StreamedBody
}

/** Alters a byte of each stored body. */
export async function damage(directory: string, at: number): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/[/\\]bodies[/\\]/.test(entry.parentPath + '/')) continue
    const path = join(entry.parentPath, entry.name)
    const bytes = await readFile(path).catch(() => null)
    // The store deletes bodies of replaced pages in the background.
    if (bytes === null) continue
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    await writeFile(path, bytes)
  }
}
