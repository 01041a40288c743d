import { exchange, type Answer } from '../../test/helpers/exchange.ts'
import { browserHeaders } from '../lib/browser.ts'
import type { Coding, Contender, ContenderName } from '../lib/contenders.ts'
import { category, type FastShop } from '../lib/fast-shop.ts'
import { samplePage } from '../lib/page.ts'
import { load, type LoadResult } from '../lib/wrk.ts'
import { check, rateOf, type Sample } from './sample.ts'

export interface Measured {
  value: number
  /** What else was seen in that round. */
  note?: string
}

/** One row of the table: a shape of request, and how it is measured. */
export interface Shape {
  name: string
  unit: 'requests/s' | 'requests to the shop' | '× quiet' | '× plain' | "× nginx's cache"
  rivals: readonly ContenderName[]
  /** For pagecache's value; divided by that of a rival where one is named. */
  goal: { rival?: ContenderName; atLeast?: number; atMost?: number }
  /** Configuration of a daemon that is started for this shape alone. */
  config?: Record<string, unknown>
  /** Warms up JIT compilers and caches. */
  prepare?(contender: Contender): Promise<unknown>
  measure(contender: Contender): Promise<Measured>
  /** Stops what `prepare` has started. */
  stop?(): Promise<unknown>
}

/** What every shape is measured with. */
export interface Arrangement {
  shop: FastShop
  connections: number
  rounds: number
  seconds: number
  /** A path that has not been requested; a number may be appended. */
  unseen(prefix?: string): string
}

export const page = samplePage().identity
export const caches = ['varnish', 'nginx'] as const

/** A hit of a page, the same one without `path`. */
export function hit(coding: Coding, options: { cookie?: boolean; path?: string } = {}): Sample {
  const { cookie = false, path = `${category}shoes` } = options
  const headers = browserHeaders({ gzip: coding === 'gzip', cookie })
  return { path, coding, headers, status: 200, hit: true, bytes: page }
}

/** Brings the sample's page into a cache. Returns the response from there. */
export async function cached(contender: Contender, sample: Sample): Promise<Answer> {
  await exchange(contender.url(sample.path, sample.coding), { headers: sample.headers })
  return await check(contender, sample)
}

/** Measures the rate of one sample. */
export function rated(
  { shop, connections, seconds }: Arrangement,
  sampleFor: (contender: Contender) => Sample | Promise<Sample>,
): Pick<Shape, 'unit' | 'prepare' | 'measure'> {
  const rate = async (contender: Contender, duration: number) =>
    await rateOf(shop, contender, await sampleFor(contender), { connections, seconds: duration })
  return {
    unit: 'requests/s',
    prepare: (contender) => rate(contender, 1),
    measure: async (contender) => ({ value: await rate(contender, seconds) }),
  }
}

/** Requests new pages, `path` with a number each, as fast as they come. */
export async function loadNewPages(
  { connections }: Arrangement,
  contender: Contender,
  path: string,
  seconds: number,
): Promise<LoadResult> {
  const headers = browserHeaders({ gzip: true, cookie: false })
  return await load({ url: contender.url(path, 'gzip'), headers, connections, seconds, fresh: '' })
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

export function portOf(contender: Contender): number {
  return Number(new URL(contender.url('/', 'gzip')).port)
}
