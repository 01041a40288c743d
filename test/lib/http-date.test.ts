import { describe, expect, it } from 'vitest'
import { formatHttpDate, parseHttpDate } from '../../src/lib/http-date.ts'

const now = Date.UTC(2026, 0, 15, 12)
const moment = Date.UTC(1994, 10, 6, 8, 49, 37)

describe('an HTTP-date', () => {
  it.each([
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
    'sun, 06 nov 1994 08:49:37 gmt',
  ])('%s', (text) => {
    expect(parseHttpDate(text, now)).toBe(moment)
  })

  it('parses what formatHttpDate writes', () => {
    for (let time = 0; time < Date.UTC(2100, 0); time += 86_400_000 * 13 + 3_671_000)
      expect(parseHttpDate(formatHttpDate(time), now)).toBe(time)
  })

  it.each([
    ['Sunday, 06-Nov-76 08:49:37 GMT', 2076],
    ['Sunday, 06-Nov-77 08:49:37 GMT', 1977],
    ['Sunday, 06-Nov-26 08:49:37 GMT', 2026],
    ['Sunday, 06-Nov-00 08:49:37 GMT', 2000],
  ])('the year of %s is %i', (text, year) => {
    expect(new Date(parseHttpDate(text, now)!).getUTCFullYear()).toBe(year)
  })

  it('a leap second is the start of the next minute', () => {
    expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', now)).toBe(Date.UTC(2017, 0, 1))
  })

  it.each(['Thu, 29 Feb 2024 00:00:00 GMT', 'Sun, 29 Feb 2032 00:00:00 GMT'])('%s exists', (text) => {
    expect(parseHttpDate(text, now)).not.toBeNull()
  })

  it.each([
    'Sat, 29 Feb 2025 00:00:00 GMT',
    'Fri, 31 Apr 2026 00:00:00 GMT',
    '',
    ' Sun, 06 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT ',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT\n',
  ])('%j is invalid', (text) => {
    expect(parseHttpDate(text, now)).toBeNull()
  })
})
