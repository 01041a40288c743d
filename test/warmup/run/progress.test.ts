import { describe, expect, it } from 'vitest'
import { percentage, startRate, toProgress, updateRate } from '../../../src/warmup/run/progress.ts'
import { runRow } from '../run-row.ts'

const row = runRow({
  id: '0190c0de-0000-7000-8000-000000000001',
  total_urls: 300,
  processed_urls: 190,
  skipped_urls: 20,
  failed_urls: 9,
  urls_per_second: 12.3456,
  checked_urls: 203,
  created_at: 0,
  updated_at: 1500,
})

it('the record has exactly the public fields', () => {
  expect(toProgress(row)).toEqual({
    id: row.id,
    status: 'running',
    sales_channel_id: null,
    batch_size: 50,
    concurrency: null,
    total_urls: 300,
    checked_urls: 203,
    processed_urls: 190,
    skipped_urls: 20,
    failed_urls: 9,
    remaining_urls: 101,
    percentage: 66.33,
    urls_per_second: 12.35,
    eta_seconds: 9,
    message: null,
    created_at: '1970-01-01T00:00:00.000Z',
    updated_at: '1970-01-01T00:00:01.500Z',
    finished_at: null,
  })
})

it('a completed run has checked = processed + failed = total', () => {
  const end = toProgress({ ...row, status: 'completed', checked_urls: 300, processed_urls: 291, finished_at: 2000 })
  expect(end).toMatchObject({
    checked_urls: 300,
    remaining_urls: 0,
    percentage: 100,
    eta_seconds: null,
    finished_at: '1970-01-01T00:00:02.000Z',
  })
})

it.each([
  [0, 3, 'running', 0],
  [1, 3, 'running', 33.33],
  [2, 3, 'running', 66.67],
  [1, 7, 'running', 14.29],
  [3, 3, 'completed', 100],
  [999_999, 1_000_000, 'running', 99.99],
  [29, 100, 'running', 29],
  [57, 100, 'running', 57],
  [0, 0, 'completed', 100],
  [0, 0, 'failed', 0],
  [3, 3, 'paused', 99.99],
] as const)('percentage of %i of %i, %s: %d', (done, total, status, expected) => {
  expect(percentage(done, total, status)).toBe(expected)
})

describe('the remaining time', () => {
  it('is null without a rate or if the run is not running', () => {
    expect(toProgress({ ...row, urls_per_second: 0 }).eta_seconds).toBeNull()
    expect(toProgress({ ...row, status: 'paused' }).eta_seconds).toBeNull()
    expect(toProgress({ ...row, processed_urls: 291 }).eta_seconds).toBe(0)
  })
})

describe('the rate', () => {
  it('starts as the plain average', () => {
    let rate = startRate(100, 0)
    for (let at = 250; at <= 5000; at += 250) rate = updateRate(rate, 100 + at / 50, at)
    expect(rate.perSecond).toBeCloseTo(20, 5)
  })

  it('follows the last half minute', () => {
    let rate = startRate(0, 0)
    let done = 0
    for (let at = 250; at <= 600_000; at += 250) rate = updateRate(rate, (done += at <= 300_000 ? 25 : 2.5), at)
    expect(rate.perSecond).toBeCloseTo(10, 1)
    expect(updateRate(rate, done, 600_000)).toBe(rate)
  })
})
