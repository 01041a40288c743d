import { describe, expect, it, onTestFinished } from 'vitest'
import type { Records } from '../../src/records/open.ts'
import { openRecords } from '../helpers/records.ts'
import { latencyColumns } from '../../src/records/traffic-rows.ts'
import { readTraffic, type TrafficQuestion } from '../../src/traffic/read-traffic.ts'
import { TrafficRecorder } from '../../src/traffic/recorder.ts'
import { MissWindow } from '../../src/traffic/miss-window.ts'
import { reasonOf, resultOf } from '../../src/traffic/result.ts'
import { durationBounds, Traffic } from '../../src/traffic/traffic.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const shop = { channelId: 'shop', type: 'products' } as const
const other = { channelId: 'other', type: 'cms' } as const
const noon = Date.parse('2026-11-22T12:00:00Z')
const minute = 60_000
const hour = 60 * minute

async function openTraffic() {
  let time = noon
  let uptime = 0
  const records = await openRecords({ directory: await tempDir(), now: () => time })
  onTestFinished(() => records.close())
  const errors: string[] = []
  const recorderOf = (traffic: Traffic, open: () => Promise<Records> = () => Promise.resolve(records)) =>
    new TrafficRecorder({
      traffic,
      records: open,
      now: () => time,
      monotonic: () => uptime,
      onError: (message) => void errors.push(message),
    })
  return {
    records,
    errors,
    recorderOf,
    at: (now: number) => {
      uptime += now - time
      time = now
    },
    /** Sets the wall clock, as an operator or a time server does. */
    setClock: (now: number) => void (time = now),
    read: (question: Partial<TrafficQuestion> = {}) =>
      readTraffic(records.db, { from: noon - hour, to: noon + hour, bucket: 'minute', ...question }, time),
  }
}

it('derives results from Cache-Status', () => {
  expect(
    [
      'pagecache; hit; ttl=60',
      'pagecache; hit; ttl=-5; detail="stale-while-revalidate"',
      'pagecache; fwd=miss; fwd-status=200; stored',
      'pagecache; fwd=miss; collapsed',
      'pagecache; fwd=stale; fwd-status=304; stored',
      'pagecache; fwd=bypass; fwd-status=200; detail="cookie a"',
      'pagecache; fwd=method; fwd-status=500; detail="method POST"',
      'pagecache; fwd=method; detail="origin timeout"',
      null,
    ].map((status) => [resultOf(status), reasonOf(status)]),
  ).toEqual([
    ['hit', null],
    ['stale', 'stale-while-revalidate'],
    ['miss', 'not cached yet'],
    ['miss', 'waited for the fetch of another visitor'],
    ['miss', 'expired'],
    ['pass', 'cookie a'],
    ['pass', 'method POST'],
    ['error', 'origin timeout'],
    ['refused', 'no answer'],
  ])
})

it('finds frequent misses among those of a crawler, in bounded memory', () => {
  const misses = new MissWindow()
  for (let count = 0; count < 20_000; count += 1) {
    misses.add('shop', `/crawled/${count}`, 'not cached yet', 1)
    // It begins late, and has one miss in fifty.
    if (count >= 5_000 && count % 50 === 0) misses.add('shop', '/frequent', 'expired', 10)
  }
  const top = misses.take(1000)
  expect(top).toHaveLength(1000)
  expect(top[0]).toMatchObject({ path: '/frequent', reason: 'expired', requests: 300, originMs: 3000 })
  expect(misses.take(3000)).toEqual([])
})

it('has a column for each latency bucket', () => {
  expect(latencyColumns).toHaveLength(durationBounds.length + 1)
})

describe('the recorder', () => {
  it.each([
    ['backwards', noon - 30 * minute],
    ['forwards', noon + 30 * minute],
  ])('counts requests in the minute of the corrected clock after it was set %s', async (_, corrected) => {
    const { recorderOf, at, setClock, read } = await openTraffic()
    const traffic = new Traffic()
    const recorder = recorderOf(traffic)
    traffic.count('hit', 200, 0.2, 0, shop)
    at(noon + 5000)
    setClock(corrected + 10_000)
    await recorder.write()
    traffic.count('hit', 200, 0.2, 0, shop)
    at(corrected + 20_000)
    await recorder.write()
    const { series } = await read()
    expect(series.filter(({ requests }) => requests > 0).map((minute) => [minute.at, minute.requests])).toEqual([
      [new Date(corrected).toISOString(), 2],
    ])
  })

  it('writes what every process has counted to the same minute and hour', async () => {
    const { recorderOf, at, read, errors } = await openTraffic()
    const [one, two] = [new Traffic(), new Traffic()]
    const recorders = [recorderOf(one), recorderOf(two)]
    one.count('hit', 200, 0.2, 1000, shop)
    one.count('miss', 404, 80, 500, shop, 75)
    two.count('hit', 304, 0.2, 0, shop)
    two.count('pass', 500, 40, 10, other, 40)
    at(noon + 10_000)
    await Promise.all(recorders.map((recorder) => recorder.write()))
    one.count('hit', 200, 0.2, 1000, shop)
    at(noon + 20_000)
    await Promise.all(recorders.map((recorder) => recorder.write()))
    const { totals, byType, byChannel, byResult, series } = await read()
    expect(totals).toMatchObject({ requests: 5, hits: 3, misses: 1, passes: 1, errors: 0, stale: 0, hitRatio: 0.75 })
    expect(totals).toMatchObject({ bytes: 2510, originTime: 115, servedTime: 120.6 })
    expect(totals.statuses).toEqual({ '1xx': 0, '2xx': 2, '3xx': 1, '4xx': 1, '5xx': 1 })
    expect(byType.map(({ type, requests }) => [type, requests])).toEqual([
      ['products', 4],
      ['cms', 1],
    ])
    expect(byChannel.map(({ salesChannelId, hitRatio }) => [salesChannelId, hitRatio])).toEqual([
      ['shop', 0.75],
      ['other', null],
    ])
    expect(byResult.map(({ result, requests }) => [result, requests])).toEqual([
      ['hit', 3],
      ['stale', 0],
      ['miss', 1],
      ['pass', 1],
      ['error', 0],
    ])
    expect(series.filter(({ requests }) => requests > 0).map((point) => [point.at, point.requests])).toEqual([
      ['2026-11-22T12:00:00.000Z', 5],
    ])
    expect((await read({ bucket: 'day' })).totals).toEqual(totals)
    expect(errors).toEqual([])
  })

  it('counts a request in the minute that it arrived in, even if it is written in the next one', async () => {
    const { recorderOf, at, read } = await openTraffic()
    const traffic = new Traffic()
    const recorder = recorderOf(traffic)
    at(noon + 50_000)
    await recorder.write()
    traffic.count('hit', 200, 1, 1, shop)
    at(noon + minute + 30)
    await recorder.write()
    traffic.count('hit', 200, 1, 1, shop)
    await recorder.close()
    const { series } = await read()
    expect(series.filter(({ requests }) => requests > 0).map((point) => [point.at, point.requests])).toEqual([
      ['2026-11-22T12:00:00.000Z', 1],
      ['2026-11-22T12:01:00.000Z', 1],
    ])
  })

  it('keeps what it could not write, reports that once and writes it later', async () => {
    const { records, recorderOf, read, errors } = await openTraffic()
    let broken = true
    const traffic = new Traffic()
    const recorder = recorderOf(traffic, async () => {
      if (broken) throw new Error('disk full')
      return records
    })
    for (let round = 0; round < 3; round += 1) {
      traffic.count('hit', 200, 1, 1, shop)
      traffic.count('miss', 200, 1, 1, shop)
      traffic.misses.add('shop', 'shop.example/a', 'expired', 1)
      await recorder.write()
    }
    expect(errors).toHaveLength(1)
    broken = false
    await recorder.write()
    const { totals, topMisses } = await read()
    expect(totals).toMatchObject({ requests: 6, hits: 3, bytes: 6 })
    expect(topMisses).toMatchObject([{ path: 'shop.example/a', requests: 3 }])
  })

  it('records neither own endpoints nor requests without a sales channel', async () => {
    const { recorderOf, read } = await openTraffic()
    const traffic = new Traffic()
    traffic.count('own', 200, 1)
    traffic.count('refused', 421, 1)
    traffic.count('error', 500, 1)
    await recorderOf(traffic).write()
    expect((await read()).totals.requests).toBe(0)
  })

  it('removes minutes after 48 hours and hours after 400 days', async () => {
    const { records, recorderOf, at, read } = await openTraffic()
    const visit = async (time: number) => {
      at(time)
      const traffic = new Traffic()
      const recorder = recorderOf(traffic)
      traffic.count('hit', 200, 1, 1, { channelId: `channel-${time}`, type: 'cms' })
      traffic.misses.add('shop', `shop.example/${time}`, 'expired', 1)
      await recorder.write()
    }
    const starts = async (table: 'traffic_minutes' | 'traffic_hours') =>
      (await records.db.selectFrom(table).select('start').orderBy('start').execute()).map(({ start }) => start)
    await visit(noon - 401 * 24 * hour)
    await visit(noon - 49 * hour)
    await visit(noon - 47 * hour)
    await visit(noon)
    expect(await starts('traffic_minutes')).toEqual([(noon - 47 * hour) / minute, noon / minute])
    expect(await starts('traffic_hours')).toEqual([noon - 49 * hour, noon - 47 * hour, noon].map((at) => at / hour))
    expect((await read({ from: noon - 400 * 24 * hour, bucket: 'day' })).topMisses).toHaveLength(3)
  })

  it('keeps the most frequent misses of an hour only, whatever a crawler requests', async () => {
    const { records, recorderOf, at, read } = await openTraffic()
    const traffic = new Traffic()
    const recorder = recorderOf(traffic)
    for (let round = 0; round < 20; round += 1) {
      for (let visit = 0; visit < 3; visit += 1) traffic.misses.add('shop', 'shop.example/popular', 'not cached yet', 2)
      for (let page = 0; page < 5_000; page += 1) traffic.misses.add('shop', `shop.example/${round}-${page}`, 'x', 1)
      at(noon + round * 10_000)
      await recorder.write()
    }
    const { rows } = await records.db
      .selectFrom('traffic_misses')
      .select((eb) => eb.fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    expect(rows).toBeLessThanOrEqual(200)
    expect((await read()).topMisses[0]).toEqual({
      path: 'shop.example/popular',
      salesChannelId: 'shop',
      reason: 'not cached yet',
      requests: 60,
      originTime: 120,
    })
  })
})

describe('reading', () => {
  it('filters by type and sales channel', async () => {
    const { recorderOf, read } = await openTraffic()
    const traffic = new Traffic()
    traffic.count('hit', 200, 1, 1, shop)
    traffic.count('hit', 200, 1, 1, other)
    traffic.count('miss', 200, 1, 1, other)
    await recorderOf(traffic).write()
    expect((await read({ type: 'products' })).totals).toMatchObject({ requests: 1, hitRatio: 1 })
    expect((await read({ salesChannelId: 'other' })).totals).toMatchObject({ requests: 2, hitRatio: 0.5 })
    expect((await read({ salesChannelId: 'other', type: 'products' })).totals).toMatchObject({
      requests: 0,
      hitRatio: null,
      p95: null,
    })
  })

  it('has every bucket of a range, and chooses the bucket by its length', async () => {
    const { read } = await openTraffic()
    const lengths = async (from: number) => {
      const { bucket, series } = await read({ from, to: noon, bucket: null })
      return [bucket, series.length]
    }
    expect(await lengths(noon - hour)).toEqual(['minute', 60])
    expect(await lengths(noon - 24 * hour)).toEqual(['hour', 24])
    expect(await lengths(noon - 30 * 24 * hour)).toEqual(['day', 31])
    expect((await read({ from: noon + 1, to: noon + 2 })).series.map(({ at }) => at)).toEqual([
      '2026-11-22T12:00:00.000Z',
    ])
  })

  it('refuses a range that is not kept or ends before it starts', async () => {
    const { read } = await openTraffic()
    await expect(read({ from: noon - 49 * hour, to: noon })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('48 hours') as string,
    })
    await expect(read({ from: noon - 402 * 24 * hour, bucket: 'day' })).rejects.toThrow('400 days')
    await expect(read({ from: noon, to: noon })).rejects.toThrow('from: must be before to')
    await expect(read({ from: noon - 48 * hour })).resolves.toBeDefined()
  })

  it('interpolates percentiles within their bucket', async () => {
    const { recorderOf, read } = await openTraffic()
    const traffic = new Traffic()
    for (let count = 0; count < 90; count += 1) traffic.count('hit', 200, 0.04, 1, shop)
    for (let count = 0; count < 10; count += 1) traffic.count('miss', 200, 200, 1, shop, 200)
    await recorderOf(traffic).write()
    const { p95, originP95 } = (await read()).totals
    // Both are in the bucket from 100 to 250 ms: the one at its middle, the other near its end.
    expect(p95).toBeCloseTo(175)
    expect(originP95).toBeCloseTo(242.5)
  })
})
