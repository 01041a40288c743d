import { expect, onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import type { Reply } from './scripted-origin.ts'
import { openSite } from './site.ts'
import { until } from '../helpers/until.ts'

export const page = { fields: { 'Cache-Control': 'public, s-maxage=60', xkey: 'product-1' }, body: 'the page' }

/** A site whose origin answers only on `release`. */
export async function openSlow(changes: Partial<CacheSettings> = {}) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  const waiting: ((reply: Reply) => void)[] = []
  site.answers(() => new Promise<Reply>((resolve) => waiting.push(resolve)))
  return {
    site,
    waiting,
    arrived: (count: number) => until(() => expect(site.origin.requests).toHaveLength(count)),
    release: (reply: Reply | ((index: number) => Reply) = page) =>
      waiting.splice(0).forEach((answer, index) => answer(typeof reply === 'function' ? reply(index) : reply)),
  }
}

export const crowd = <T>(count: number, each: (index: number) => Promise<T>) =>
  Array.from({ length: count }, (_, index) => each(index))
