import { setTimeout as pause } from 'node:timers/promises'
import { exchange } from '../../test/helpers/exchange.ts'
import { browserHeaders } from '../lib/browser.ts'
import type { Contender } from '../lib/contenders.ts'
import { account, basket, basketBody, category, expiring, slow, uncompressed } from '../lib/fast-shop.ts'
import { median } from '../lib/statistics.ts'
import { load } from '../lib/wrk.ts'
import { check, fromCache, type Sample } from './sample.ts'
import { cached, caches, hit, loadNewPages, page, percent, rated, type Arrangement, type Shape } from './shape.ts'

/** Visitors of one page at once. */
const crowd = 50
/** A page that expires is stale after this time, whatever a cache rounds. */
const untilStale = 2_100
/** V8 compiles the code of a stored miss during the first twenty seconds of a crawl. A daemon runs for months. */
const warmFor = 20

/** Requests that reach the shop. */
export function missShapes(arrangement: Arrangement): Shape[] {
  return [
    passThrough(arrangement, 'GET', '20 kB'),
    passThrough(arrangement, 'GET', '2 bytes'),
    passThrough(arrangement, 'POST', '20 kB'),
    passThrough(arrangement, 'POST', '2 bytes'),
    stored(arrangement),
    stored(arrangement, { name: ', shop without compression', below: uncompressed }),
    coalesced(arrangement),
    renewed(arrangement),
    hitsBesideMisses(arrangement),
  ]
}

/** A request with a session: no cache may answer it. */
export function passed(method: 'GET' | 'POST', size: '20 kB' | '2 bytes'): Sample {
  return {
    path: size === '20 kB' ? account : basket,
    coding: 'identity',
    headers: { ...browserHeaders({ gzip: false, cookie: false }), Cookie: 'session=7b1c2a90' },
    method,
    ...(method === 'POST' ? { body: 'id=0190c0de&quantity=1' } : {}),
    status: 200,
    hit: false,
    bytes: size === '20 kB' ? page : Buffer.from(basketBody),
  }
}

function passThrough(arrangement: Arrangement, method: 'GET' | 'POST', size: '20 kB' | '2 bytes'): Shape {
  return {
    name: `pass-through ${method}, ${size}`,
    rivals: caches,
    goal: { rival: 'varnish', atLeast: 1 },
    ...rated(arrangement, () => passed(method, size)),
  }
}

function stored(arrangement: Arrangement, { name, below } = { name: '', below: category }): Shape {
  const { shop, connections, seconds, unseen } = arrangement
  return {
    name: `miss that is stored, every URL new${name}`,
    unit: 'requests/s',
    rivals: [...caches, 'varnish-plain'],
    goal: { rival: 'varnish', atLeast: 0.6 },
    prepare: (contender) => loadNewPages(arrangement, contender, unseen(below), warmFor),
    async measure(contender) {
      const path = unseen(below)
      const asked = await shop.requests()
      const { requests, requestsPerSecond } = await loadNewPages(arrangement, contender, path, seconds)
      const reached = (await shop.requests()) - asked
      if (reached < requests || reached > requests + connections)
        throw new Error(`${contender.name}: ${reached} requests reached the shop for ${requests} new pages`)
      return {
        value: requestsPerSecond,
        note: `${percent(await sharedCached(contender, path, requests))} of a sample cached`,
      }
    },
  }
}

/** The share of new pages, evenly chosen, that are hits afterwards. */
async function sharedCached(contender: Contender, path: string, requests: number): Promise<number> {
  const { headers } = hit('gzip')
  const count = Math.min(100, requests)
  let found = 0
  for (let n = 1; n <= count; n++) {
    const number = Math.floor((n * requests) / count)
    const answer = await exchange(contender.url(path + number, 'gzip'), { headers })
    if (fromCache(contender, answer)) found += 1
  }
  return found / count
}

function coalesced({ shop, seconds, unseen }: Arrangement): Shape {
  return {
    name: `coalesced miss, ${crowd} visitors`,
    unit: 'requests to the shop',
    rivals: caches,
    goal: { atMost: 1 },
    async measure(contender) {
      const times: number[] = []
      const asked: number[] = []
      for (let n = 0; n < 5 * seconds; n++) {
        const sample = hit('identity', { path: unseen(slow) })
        const visit = () => exchange(contender.url(sample.path, 'identity'), { headers: sample.headers })
        const started = performance.now()
        const answers = await Promise.all(Array.from({ length: crowd }, visit))
        times.push(performance.now() - started)
        asked.push(shop.slowRequests(sample.path))
        if (!answers.every((answer) => answer.status === 200 && answer.body.equals(page)))
          throw new Error(`${contender.name}: some visitors did not get the page`)
        await check(contender, sample)
      }
      const mean = asked.reduce((sum, one) => sum + one, 0) / asked.length
      return { value: mean, note: `all served in ${median(times).toFixed(0)} ms` }
    },
  }
}

function renewed({ shop, connections, seconds, unseen }: Arrangement): Shape {
  return {
    name: `stale-while-revalidate under load, ${seconds} s`,
    unit: 'requests to the shop',
    rivals: caches,
    // Fresh for one second: one renewal at the start, and one after each second.
    goal: { atMost: seconds + 1 },
    async measure(contender) {
      const sample = hit('identity', { path: unseen(expiring) })
      await cached(contender, sample)
      await pause(untilStale)
      const asked = shop.slowRequests(sample.path)
      const url = contender.url(sample.path, 'identity')
      const { requestsPerSecond } = await load({ url, headers: sample.headers, connections, seconds })
      const value = shop.slowRequests(sample.path) - asked
      if (value === 0) throw new Error(`${contender.name}: no renewal was needed`)
      return { value, note: `${Math.round(requestsPerSecond)} responses/s` }
    },
  }
}

function hitsBesideMisses(arrangement: Arrangement): Shape {
  const { seconds, unseen } = arrangement
  return {
    name: 'hits over 4 connections beside misses',
    unit: 'requests/s',
    rivals: caches,
    goal: { rival: 'nginx', atLeast: 0.7 },
    async prepare(contender) {
      await loadNewPages(arrangement, contender, unseen(), warmFor)
      await cached(contender, hit('gzip'))
    },
    async measure(contender) {
      const sample = hit('gzip')
      const misses = loadNewPages(arrangement, contender, unseen(), seconds + 1)
      await pause(500)
      const url = contender.url(sample.path, 'gzip')
      const [hits, beside] = await Promise.all([
        load({ url, headers: sample.headers, connections: 4, seconds }),
        misses,
      ])
      await check(contender, sample)
      return { value: hits.requestsPerSecond, note: `beside ${Math.round(beside.requestsPerSecond)} misses/s` }
    },
  }
}
