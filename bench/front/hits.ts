import type { Coding, Contender } from '../lib/contenders.ts'
import { watchServerCore } from '../lib/cores.ts'
import { category } from '../lib/fast-shop.ts'
import type { Heads, HeadsResult } from '../lib/head-client.ts'
import { load } from '../lib/wrk.ts'
import { runFile } from '../lib/run-file.ts'
import { check, type Sample } from './sample.ts'
import { cached, caches, hit, page, percent, portOf, rated, type Arrangement, type Shape } from './shape.ts'

/** Many times the memory of the daemon that serves them from disk. */
export const pagesOnDisk = 2_000
/** The configuration of that daemon. */
export const littleMemory = { cache: { memory: '1MB' } }
const empty = Buffer.alloc(0)

/** Every way to ask for a stored page. */
export function hitShapes(arrangement: Arrangement): Shape[] {
  return [
    whole(arrangement, 'gzip', false),
    whole(arrangement, 'gzip', true),
    whole(arrangement, 'identity', false),
    whole(arrangement, 'identity', true),
    notModified(arrangement, 'If-None-Match', 'etag'),
    notModified(arrangement, 'If-Modified-Since', 'last-modified'),
    head(arrangement),
    range(arrangement),
    onDisk(arrangement),
  ]
}

function whole(arrangement: Arrangement, coding: Coding, cookie: boolean): Shape {
  return {
    name: `hit, ${coding}${cookie ? ', with cookies' : ''}`,
    rivals: [...caches, 'node'],
    goal: { rival: 'nginx', atLeast: 1 },
    ...rated(arrangement, async (contender) => {
      const sample = hit(coding, { cookie })
      await cached(contender, sample)
      return sample
    }),
  }
}

function notModified(
  arrangement: Arrangement,
  field: 'If-None-Match' | 'If-Modified-Since',
  validator: 'etag' | 'last-modified',
): Shape {
  return {
    name: `304 to ${field}`,
    rivals: caches,
    goal: { rival: 'nginx', atLeast: 0.7 },
    ...rated(arrangement, async (contender): Promise<Sample> => {
      const sample = hit('gzip')
      const value = (await cached(contender, sample)).headers.get(validator) ?? ''
      return { ...sample, headers: { ...sample.headers, [field]: value }, status: 304, bytes: empty }
    }),
  }
}

function range(arrangement: Arrangement): Shape {
  return {
    name: 'one Range',
    rivals: caches,
    goal: { rival: 'nginx', atLeast: 0.5 },
    ...rated(arrangement, async (contender): Promise<Sample> => {
      const sample = hit('identity')
      await cached(contender, sample)
      const headers = { ...sample.headers, Range: 'bytes=1000-1999' }
      return { ...sample, headers, status: 206, bytes: page.subarray(1000, 2000) }
    }),
  }
}

/** The client may be slower than the server, so the rate is divided by the share of time in which the server's core was busy. */
function head({ shop, connections, seconds }: Arrangement): Shape {
  return {
    name: 'HEAD',
    unit: 'requests/s',
    rivals: caches,
    goal: { rival: 'nginx', atLeast: 0.5 },
    async measure(contender) {
      const sample: Sample = { ...hit('gzip'), method: 'HEAD', bytes: empty }
      await cached(contender, hit('gzip'))
      await check(contender, sample)
      const asked = await shop.requests()
      const busy = watchServerCore()
      const heads: Heads = { port: portOf(contender), path: sample.path, headers: sample.headers, connections, seconds }
      const { requestsPerSecond } = await runFile<HeadsResult>('lib/head-client.ts', [JSON.stringify(heads)])
      const share = busy()
      if ((await shop.requests()) !== asked) throw new Error(`${contender.name}: HEAD requests reached the shop`)
      return { value: requestsPerSecond / share, note: `${percent(share)} busy` }
    },
  }
}

/** Pages in turn, of which hardly any is in memory when it is requested. */
function onDisk({ shop, connections, seconds }: Arrangement): Shape {
  const paths = Array.from({ length: pagesOnDisk }, (_, n) => `${category}disk-${n}`)
  const sample = hit('gzip', { path: paths[0]! })
  const read = (contender: Contender, duration: number) =>
    load({ url: contender.url(sample.path, 'gzip'), headers: sample.headers, connections, seconds: duration, paths })
  return {
    name: 'hit on disk, not in memory',
    unit: 'requests/s',
    rivals: caches,
    goal: { rival: 'nginx', atLeast: 0.25 },
    config: littleMemory,
    async prepare(contender) {
      for (let reached = 1, tries = 0; reached > 0 && tries < 30; tries++) {
        const asked = await shop.requests()
        const { requests } = await read(contender, 2)
        reached = requests < pagesOnDisk ? 1 : (await shop.requests()) - asked
      }
    },
    async measure(contender) {
      const asked = await shop.requests()
      const { requestsPerSecond } = await read(contender, seconds)
      if ((await shop.requests()) !== asked) throw new Error(`${contender.name}: some pages were not on disk`)
      await check(contender, sample)
      return { value: requestsPerSecond }
    },
  }
}
