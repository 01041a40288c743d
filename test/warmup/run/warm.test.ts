import { describe, expect, it } from 'vitest'
import type { RetryRules } from '../../../src/warmup/run/attempt.ts'
import type { PaceRules } from '../../../src/warmup/run/pace.ts'
import { Pacer } from '../../../src/warmup/run/pacer.ts'
import { warm, type UrlOutcome, type WarmOptions } from '../../../src/warmup/run/warm.ts'
import { toPasses } from '../../../src/warmup/run/variant.ts'
import type { FetchPage, WarmResult } from '../../../src/warmup/run/warm-result.ts'
import { VirtualTiming } from '../../helpers/virtual-timing.ts'

const stored: WarmResult = { kind: 'stored', status: 200, ms: 10 }
const failed = (status: number | null, retryAfter: number | null = null): WarmResult => ({
  kind: 'failed',
  status,
  error: `answered ${status}`,
  retryAfter,
  ms: 10,
})

const purged: WarmResult = { kind: 'not-stored', status: 200, ms: 10, reason: 'purged', transient: 'purge' }

interface Seen {
  url: string
  at: number
  headers: Readonly<Record<string, string>>
  force: boolean
}

/** Warms URLs of a shop that takes 10 ms per request and returns the results of `answer`. */
async function run(
  urls: readonly string[],
  answer: (seen: Seen, nth: number, timing: VirtualTiming) => WarmResult | Promise<WarmResult>,
  options: Partial<Omit<WarmOptions<{ url: string }>, 'rules'>> & { rules?: Partial<PaceRules & RetryRules> } = {},
) {
  const timing = new VirtualTiming()
  const seen: Seen[] = []
  const outcomes = new Map<string, UrlOutcome>()
  let [atOnce, most] = [0, 0]
  const queue = urls.map((url) => ({ url }))
  const never = new AbortController().signal
  const fetchPage: FetchPage = async (url, { headers, force, mayStart }) => {
    expect(mayStart()).toBe(true)
    const one = { url, at: timing.now(), headers, force }
    seen.push(one)
    most = Math.max(most, ++atOnce)
    const result = await answer(one, seen.filter((other) => other.url === url).length, timing)
    await timing.sleep(10)
    atOnce--
    return result
  }
  const { rules: changed, ...rest } = options
  const rules: PaceRules & RetryRules = {
    concurrency: 4,
    requestsPerSecond: null,
    crawlDelay: null,
    retries: 3,
    maxWait: 60_000,
    ...changed,
  }
  await timing.until(
    warm({
      next: async () => queue.shift() ?? null,
      onDone: ({ url }, outcome) => {
        expect(outcomes.has(url)).toBe(false)
        outcomes.set(url, outcome)
      },
      fetchPage,
      passes: [{}],
      force: false,
      rules,
      pacer: new Pacer(rules, timing),
      gate: () => null,
      observer: { began: () => () => {} },
      stop: never,
      abort: never,
      timing,
      random: () => 1,
      ...rest,
    }),
  )
  return { seen, outcomes, most, left: queue.length, virtual: timing.now() }
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `http://shop.example/${i}`)

describe('each URL', () => {
  it('is fetched once, at the configured concurrency', async () => {
    const { seen, outcomes, most } = await run(names(100), () => stored)
    expect(seen).toHaveLength(100)
    expect(most).toBe(4)
    expect([...outcomes.values()]).toEqual(names(100).map(() => ({ kind: 'processed', skipped: false })))
  })

  it('is fetched once per variant, and skipped if all are fresh', async () => {
    const passes = toPasses([
      { headers: {}, cookies: {} },
      { headers: { 'x-group': 'b2b' }, cookies: { 'sw-currency': 'EUR', 'sw-cache-hash': 'x' } },
    ])
    const { seen, outcomes } = await run(
      ['/fresh', '/half', '/broken'],
      ({ url, headers }) => {
        if (url === '/fresh' || !headers['cookie']) return { kind: 'fresh' }
        return url === '/half' ? stored : { kind: 'not-stored', status: 200, ms: 1, reason: 'it sets a cookie' }
      },
      { passes },
    )
    expect(seen.filter(({ url }) => url === '/half').map(({ headers }) => headers)).toEqual([
      {},
      { 'x-group': 'b2b', cookie: 'sw-currency=EUR; sw-cache-hash=x' },
    ])
    expect(Object.fromEntries(outcomes)).toEqual({
      '/fresh': { kind: 'processed', skipped: true },
      '/half': { kind: 'processed', skipped: false },
      '/broken': { kind: 'failed', failures: [{ variant: 1, status: 200, error: 'it sets a cookie', attempts: 1 }] },
    })
  })

  it('is requested without cookies if no variant is configured', () => {
    expect(toPasses([])).toEqual([{}])
  })

  it('is retried later after a transient failure, while others proceed', async () => {
    const { seen, outcomes } = await run(
      names(200),
      ({ url }, nth) => (url.endsWith('/0') && nth < 3 ? failed(500) : stored),
      { rules: { concurrency: 1 } },
    )
    const tries = seen.filter(({ url }) => url === 'http://shop.example/0').map(({ at }) => at)
    expect(tries).toHaveLength(3)
    expect(tries[1]! - tries[0]!).toBeGreaterThanOrEqual(500)
    expect(tries[2]! - tries[1]!).toBeGreaterThanOrEqual(1000)
    expect(seen.findIndex(({ url }) => url.endsWith('/10'))).toBeLessThan(
      seen.findLastIndex(({ url }) => url.endsWith('/0')),
    )
    expect(outcomes.get('http://shop.example/0')).toEqual({ kind: 'processed', skipped: false })
  })

  it('fails after the last retry, and at once for a 404', async () => {
    const { outcomes } = await run(['/gone', '/down'], ({ url }) => failed(url === '/gone' ? 404 : null))
    expect(outcomes.get('/gone')).toEqual({
      kind: 'failed',
      failures: [{ variant: 0, status: 404, error: 'answered 404', attempts: 1 }],
    })
    expect(outcomes.get('/down')).toMatchObject({ failures: [{ status: null, attempts: 4 }] })
  })

  it('is fetched until no purge selects it during a fetch, while others proceed', async () => {
    const { seen, outcomes } = await run(
      ['/purged', ...names(200)],
      ({ url }, nth) => (url === '/purged' && nth <= 12 ? purged : stored),
      { rules: { concurrency: 1, retries: 1 } },
    )
    expect([...outcomes.values()].every(({ kind }) => kind === 'processed')).toBe(true)
    expect([...outcomes.keys()].at(-1)).toBe('/purged')
    expect(seen).toHaveLength(200 + 13)
  })

  it('fails with all its attempts if purges never end, within two minutes', async () => {
    const { outcomes, virtual } = await run(['/purged'], (_, nth) => (nth <= 2 ? failed(500) : purged))
    expect(outcomes.get('/purged')).toEqual({
      kind: 'failed',
      failures: [{ variant: 0, status: 200, error: 'purged', attempts: 2 + 20 + 1 }],
    })
    expect(virtual).toBeLessThan(120_000)
  })
})

describe('the origin', () => {
  it('gets at most the configured requests per second', async () => {
    const { seen, virtual } = await run(names(101), () => stored, { rules: { requestsPerSecond: 20 } })
    expect(virtual).toBeGreaterThanOrEqual(4900)
    for (const [index, { at }] of seen.slice(20).entries())
      expect(at - seen[index]!.at).toBeGreaterThanOrEqual(1000 - 150)
  })

  it('gets its crawl delay between two requests', async () => {
    const { seen } = await run(names(5), () => stored, { rules: { crawlDelay: 2000 } })
    expect(seen.map(({ at }) => at)).toEqual([0, 2000, 4000, 6000, 8000])
  })

  it('gets the pause of its Retry-After, and fewer concurrent requests after it', async () => {
    const { seen, outcomes } = await run(names(60), ({ at }) => (at < 100 && at >= 50 ? failed(503, 5000) : stored))
    const pause = seen.findIndex(({ at }) => at >= 5000)
    expect(seen.filter(({ at }) => at > 100 && at < 5050)).toEqual([])
    expect(seen.slice(pause, pause + 4).filter(({ at }) => at === seen[pause]!.at).length).toBeLessThanOrEqual(2)
    expect([...outcomes.values()].every(({ kind }) => kind === 'processed')).toBe(true)
  })

  it.each([503, 500, null])('is not slowed down by pages that fail with %s by their own fault', async (status) => {
    const urls = names(3000)
    const troubled = new Set(urls.filter((_, index) => index % 10 === 9))
    const { virtual: whole } = await run(urls, () => stored)
    const { virtual, outcomes, seen } = await run(urls, ({ url }) => (troubled.has(url) ? failed(status) : stored))
    expect([...outcomes].filter(([, { kind }]) => kind === 'failed').map(([url]) => url)).toEqual(
      expect.arrayContaining([...troubled]),
    )
    expect(seen).toHaveLength(2700 + 300 * 4)
    // A third more requests, and the last retries.
    expect(virtual).toBeLessThan(whole * 1.4 + 4000)
  })

  it.each([503, 500, null])('is not slowed down by them where all other pages are fresh', async (status) => {
    const urls = names(1000)
    const troubled = new Set(urls.filter((_, index) => index % 10 === 9))
    const { virtual, outcomes, seen } = await run(urls, ({ url, force }) => {
      if (troubled.has(url)) return failed(status)
      return force ? stored : { kind: 'fresh' }
    })
    expect([...outcomes].filter(([, { kind }]) => kind === 'failed').map(([url]) => url)).toEqual([...troubled])
    // Seven pages have to fail before the origin is in doubt.
    expect(seen.filter(({ force }) => force).length).toBeLessThanOrEqual(troubled.size / 7)
    expect(virtual).toBeLessThan(30_000)
  })

  it('is in doubt only until a page that was well before fails too', async () => {
    const answer = ({ at, force }: Seen): WarmResult =>
      at >= 200 && at < 60_200 ? failed(null) : force ? stored : { kind: 'fresh' }
    const { seen } = await run(names(400), answer, { rules: { retries: 20 } })
    const down = seen.filter(({ at }) => at >= 200 && at < 60_200)
    expect(down.length).toBeLessThan(60)
    expect(down.filter(({ force }) => force).length).toBeLessThanOrEqual(down.length / 2)
  })

  it('keeps its rate, and waits for Retry-After, while it is in doubt', async () => {
    const urls = names(60)
    const { seen } = await run(
      urls,
      ({ url, at, force }) => {
        if (force) return stored
        if (urls.indexOf(url) < 20) return { kind: 'fresh' }
        return at < 120_000 ? failed(503, url === urls[40] ? 20_000 : null) : stored
      },
      { rules: { requestsPerSecond: 2, retries: 20 } },
    )
    const starts = seen.filter(({ url, force }) => force || urls.indexOf(url) >= 20).map(({ at }) => at)
    const gaps = starts.slice(1).map((at, index) => at - starts[index]!)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(490)
    expect(Math.max(...gaps)).toBeGreaterThanOrEqual(19_000)
  })

  it.each([503, 500, null])('gets few requests while it fails all of them with %s, and recovers', async (status) => {
    const { seen, outcomes } = await run(names(400), ({ at }) => (at >= 200 && at < 60_200 ? failed(status) : stored), {
      rules: { retries: 20 },
    })
    expect(seen.filter(({ at }) => at >= 200 && at < 60_200).length).toBeLessThan(60)
    expect([...outcomes.values()].every(({ kind }) => kind === 'processed')).toBe(true)
  })

  it('is not hammered while it is down, and a bounded number of URLs waits for retries', async () => {
    let taken = 0
    const { seen, outcomes, virtual } = await run([], () => failed(null), {
      next: async () => (taken < 1000 ? { url: `/${taken++}` } : null),
    })
    expect(outcomes.size).toBe(1000)
    expect(seen).toHaveLength(4000)
    expect(virtual).toBeGreaterThan((1000 / (4 * 32)) * 3500 * 0.9)
  })
})

describe('stopping early', () => {
  it('finishes requests in flight and starts none', async () => {
    const stop = new AbortController()
    const { outcomes, left, seen } = await run(
      names(100),
      (_, __, timing) => {
        if (timing.now() >= 50) stop.abort()
        return stored
      },
      { stop: stop.signal },
    )
    expect(outcomes.size).toBe(seen.length)
    expect(outcomes.size + left).toBe(100)
    expect(left).toBeGreaterThan(50)
  })

  it('does not wait for retries: those URLs have no outcome', async () => {
    const stop = new AbortController()
    const { outcomes, virtual } = await run(
      ['/slow', '/fine'],
      ({ url }, _, timing) => {
        if (url === '/slow') return failed(503, 30_000)
        void timing.sleep(1000).then(() => stop.abort())
        return stored
      },
      { stop: stop.signal },
    )
    expect([...outcomes.keys()]).toEqual(['/fine'])
    expect(virtual).toBeLessThan(2000)
  })

  it('throws errors of fetchPage and next', async () => {
    await expect(
      run(names(3), () => {
        throw new TypeError('our bug')
      }),
    ).rejects.toThrow('our bug')
    await expect(run([], () => stored, { next: () => Promise.reject(new Error('no records')) })).rejects.toThrow(
      'no records',
    )
  })
})
