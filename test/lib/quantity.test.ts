import { describe, expect, it } from 'vitest'
import { formatBytes } from '../../src/lib/format-bytes.ts'
import { formatDuration, formatMs } from '../../src/lib/format.ts'
import { parseDuration, parseSize, writeDuration, writeSize } from '../../src/lib/quantity.ts'

it.each([
  [0, '0 B'],
  [1, '1 B'],
  [1023, '1023 B'],
  [1024, '1.00 KB'],
  [1536 * 1024, '1.50 MB'],
  [1024 ** 2 - 1, '1.00 MB'],
  [1024 ** 3, '1.00 GB'],
  [1024 ** 4, '1.00 TB'],
  [5000 * 1024 ** 4, '5000.00 TB'],
])('formats %d bytes as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

it.each([
  [0, '0 s'],
  [0.00042, '0.4 ms'],
  [0.25, '250 ms'],
  [12.7, '13 s'],
  [119.6, '2 min'],
  [250, '4 min 10 s'],
  [7200, '2 h'],
  [93_600 + 59, '1 d 2 h'],
])('formats %d seconds as %s', (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text)
})

it.each([
  [7790, '7.79 s'],
  [124_600, '2 min 5 s'],
])('formats %d measured milliseconds as %s', (ms, text) => {
  expect(formatMs(ms)).toBe(text)
})

describe('a duration', () => {
  it.each([
    ['30s', 30_000],
    ['5m', 300_000],
    ['1.5 h', 5_400_000],
    ['250ms', 250],
    ['1D', 86_400_000],
    [30, 30_000],
    [0.5, 500],
    [0, 0],
  ])('%j is %d ms', (input, milliseconds) => {
    expect(parseDuration(input)).toBe(milliseconds)
  })

  it.each([
    '',
    '30',
    's',
    '-1s',
    '5 minutes',
    '1h30m',
    '1e3s',
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
    true,
    {},
    [],
  ])('%j is invalid', (input) => {
    expect(parseDuration(input)).toBeUndefined()
  })

  it.each([0, 1, 999, 1000, 90_000, 300_000, 86_400_000])('of %d ms reads back as it was written', (milliseconds) => {
    expect(parseDuration(writeDuration(milliseconds))).toBe(milliseconds)
  })
})

describe('a size', () => {
  it.each([
    ['128MB', 128 * 1024 ** 2],
    ['1.5 gb', 1.5 * 1024 ** 3],
    ['10B', 10],
    [4096, 4096],
  ])('%j is %d bytes', (input, bytes) => {
    expect(parseSize(input)).toBe(bytes)
  })

  it.each(['128', '128M', '128MiB', '-1MB', 1e300, -1, null])('%j is invalid', (input) => {
    expect(parseSize(input)).toBeUndefined()
  })

  it.each([0, 1, 1023, 1024, 1536, 5 * 1024 ** 4])('of %d bytes reads back as it was written', (bytes) => {
    expect(parseSize(writeSize(bytes))).toBe(bytes)
  })
})
