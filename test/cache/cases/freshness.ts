import { at, freshFor, hit, miss, named, notStored, rule, staleAfter, stored, type Case } from './case.ts'

const lifetime = [
  rule('9111 §4.2.1', 'required', 's-maxage overrides max-age, which overrides Expires', {
    's-maxage-over-max-age': freshFor(60, { 'Cache-Control': 'max-age=10, s-maxage=60' }),
    's-maxage-shorter': freshFor(10, { 'Cache-Control': 's-maxage=10, max-age=60' }),
    's-maxage-over-expires': freshFor(60, { 'Cache-Control': 's-maxage=60', Expires: at(-10) }),
    's-maxage-zero-over-max-age': staleAfter(0, { 'Cache-Control': 's-maxage=0, max-age=3600' }),
    'max-age-over-expires': freshFor(60, { 'Cache-Control': 'max-age=60', Expires: at(3600) }),
    'max-age-over-past-expires': freshFor(60, { 'Cache-Control': 'max-age=60', Expires: at(-3600) }),
    'max-age-over-expires-zero': freshFor(60, { 'Cache-Control': 'max-age=60', Expires: '0' }),
    'expires-alone': freshFor(60, { Expires: at(60) }),
    'expires-from-date': freshFor(60, { Date: at(0), Expires: at(60) }),
    'unknown-directive-with-expires': freshFor(60, { 'Cache-Control': 'foo', Expires: at(60) }),
    's-maxage-on-second-line': freshFor(60, { 'Cache-Control': ['max-age=1', 's-maxage=60'] }),
  }),
  rule('9111 §4.2', 'required', 'a response is fresh while its age is less than its lifetime', {
    'max-age': freshFor(60, { 'Cache-Control': 'max-age=60' }),
    'max-age-zero': staleAfter(0, { 'Cache-Control': 'max-age=0' }),
    's-maxage': freshFor(60, { 'Cache-Control': 's-maxage=60' }),
    's-maxage-zero': staleAfter(0, { 'Cache-Control': 's-maxage=0' }),
    'max-age-long': [...stored({ 'Cache-Control': 'max-age=31536000' }), hit({ wait: 31_000_000 })],
  }),
  rule('9111 §4.2.1', 'required', 'of repeated directives the shortest lifetime counts', {
    'max-age-twice': freshFor(10, { 'Cache-Control': 'max-age=10, max-age=60' }),
    'max-age-twice-reversed': freshFor(10, { 'Cache-Control': 'max-age=60, max-age=10' }),
    'max-age-two-lines': freshFor(10, { 'Cache-Control': ['max-age=60', 'max-age=10'] }),
    's-maxage-twice': freshFor(10, { 'Cache-Control': 's-maxage=60, s-maxage=10' }),
    'max-age-one-malformed': staleAfter(0, { 'Cache-Control': 'max-age=60, max-age=x' }),
  }),
  rule('9111 §4.2.1', 'required', 'a malformed lifetime makes the response stale', {
    ...named(
      {
        negative: '-1',
        'letter-after': '60a',
        'letter-before': 'a60',
        fraction: '60.5',
        hexadecimal: '0x3c',
        'space-before': ' 60',
        nothing: '',
        'empty-quotes': '""',
        'single-quotes': "'60'",
        'open-quote': '"60',
        plus: '+60',
        exponent: '1e3',
        'space-within': '6 0',
      },
      (value) => staleAfter(0, { 'Cache-Control': `max-age=${value}` }),
      'max-age-',
    ),
    'max-age-bare': staleAfter(0, { 'Cache-Control': 'max-age' }),
    'max-age-spaced': staleAfter(0, { 'Cache-Control': 'max-age = 3600' }),
    's-maxage-malformed': staleAfter(0, { 'Cache-Control': 's-maxage=1h, max-age=3600' }),
  }),
  rule('9111 §1.2.2', 'required', 'delta-seconds are capped at 2^31', {
    'max-age-overflow-32': [...stored({ 'Cache-Control': 'max-age=2147483648' }), hit({ wait: 2_000_000_000 })],
    'max-age-overflow-33': stored({ 'Cache-Control': 'max-age=4294967297' }),
    'max-age-overflow-64': stored({ 'Cache-Control': 'max-age=18446744073709551617' }),
    'max-age-overflow-100-digits': stored({ 'Cache-Control': `max-age=${'9'.repeat(100)}` }),
    'max-age-leading-zeros': freshFor(60, { 'Cache-Control': 'max-age=0000060' }),
  }),
]

const heuristics = [
  rule('9111 §4.2.2', 'optimal', 'the heuristic lifetime is a tenth of the time since Last-Modified', {
    'heuristic-tenth': freshFor(100, { 'Last-Modified': at(-1000) }),
    'heuristic-most-a-day': freshFor(86_400, { 'Last-Modified': at(-86_400 * 100) }),
    'heuristic-from-date': freshFor(100, { Date: at(0), 'Last-Modified': at(-1000) }),
    'heuristic-with-unknown-directive': freshFor(100, { 'Last-Modified': at(-1000), 'Cache-Control': 'foo' }),
  }),
  rule('9111 §4.2.2', 'required', 'no heuristic with explicit freshness, even expired or malformed', {
    'no-heuristic-max-age': staleAfter(
      0,
      { 'Last-Modified': at(-86_400), 'Cache-Control': 'max-age=0' },
      { reply: { status: 404 } },
    ),
    'no-heuristic-expires': notStored({ 'Last-Modified': at(-86_400), Expires: at(-60) }, { reply: { status: 404 } }),
    'no-heuristic-bad-expires': notStored(
      { 'Last-Modified': at(-86_400), Expires: 'never' },
      { reply: { status: 404 } },
    ),
  }),
  rule('9111 §4.2.2', 'ours', 'no heuristic from an invalid or future Last-Modified', {
    'heuristic-future': [miss({ 'Last-Modified': at(3600) }), miss({}, { sent: { 'if-modified-since': at(3600) } })],
    'heuristic-malformed': [miss({ 'Last-Modified': 'yesterday' }), miss({})],
    'heuristic-etag-only': [miss({ ETag: '"a"' }), miss({}, { sent: { 'if-none-match': '"a"' } })],
  }),
]

/** An hour after the start, Thursday 15 January 2026 13:00:00. */
const good = {
  'date-imf': 'Thu, 15 Jan 2026 13:00:00 GMT',
  'date-form-rfc850': 'Thursday, 15-Jan-26 13:00:00 GMT',
  'date-form-asctime': 'Thu Jan 15 13:00:00 2026',
  'date-lower-case': 'thu, 15 jan 2026 13:00:00 gmt',
  'date-upper-case': 'THU, 15 JAN 2026 13:00:00 GMT',
}

const bad = {
  'date-zero': '0',
  'date-minus-one': '-1',
  'date-empty': '',
  'date-word': 'never',
  'date-seconds': '3600',
  'date-iso': '2026-01-15T13:00:00Z',
  'date-unix': '1768482000',
  'date-no-zone': 'Thu, 15 Jan 2026 13:00:00',
  'date-utc': 'Thu, 15 Jan 2026 13:00:00 UTC',
  'date-offset': 'Thu, 15 Jan 2026 13:00:00 +0000',
  'date-zone-est': 'Thu, 15 Jan 2026 13:00:00 EST',
  'date-zone-gmt-plus': 'Thu, 15 Jan 2026 13:00:00 GMT+1',
  'date-no-comma': 'Thu 15 Jan 2026 13:00:00 GMT',
  'date-dashes': 'Thu, 15-Jan-2026 13:00:00 GMT',
  'date-dashes-short-year': 'Thu, 15-Jan-26 13:00:00 GMT',
  'date-all-dashes': 'Thu-15-Jan-26 13:00:00 GMT',
  'date-two-digit-year': 'Thu, 15 Jan 26 13:00:00 GMT',
  'date-five-digit-year': 'Thu, 15 Jan 12026 13:00:00 GMT',
  'date-one-digit-day': 'Thu, 5 Feb 2026 13:00:00 GMT',
  'date-two-spaces-before-day': 'Thu,  15 Jan 2026 13:00:00 GMT',
  'date-no-space-before-day': 'Thu,15 Jan 2026 13:00:00 GMT',
  'date-two-spaces-before-month': 'Thu, 15  Jan 2026 13:00:00 GMT',
  'date-two-spaces-before-time': 'Thu, 15 Jan 2026  13:00:00 GMT',
  'date-no-seconds': 'Thu, 15 Jan 2026 13:00 GMT',
  'date-dots-in-time': 'Thu, 15 Jan 2026 13.00.00 GMT',
  'date-one-digit-hour': 'Thu, 15 Jan 2026 1:00:00 GMT',
  'date-pm': 'Thu, 15 Jan 2026 01:00:00 PM GMT',
  'date-hour-24': 'Thu, 15 Jan 2026 24:00:00 GMT',
  'date-minute-60': 'Thu, 15 Jan 2026 13:60:00 GMT',
  'date-second-61': 'Thu, 15 Jan 2026 13:00:61 GMT',
  'date-day-32': 'Thu, 32 Jan 2026 13:00:00 GMT',
  'date-day-zero': 'Thu, 00 Feb 2026 13:00:00 GMT',
  'date-30-february': 'Mon, 30 Feb 2026 13:00:00 GMT',
  'date-long-month': 'Thu, 15 January 2026 13:00:00 GMT',
  'date-unknown-month': 'Thu, 15 Foo 2026 13:00:00 GMT',
  'date-month-number': 'Thu, 15 01 2026 13:00:00 GMT',
  'date-long-day-name': 'Thursday, 15 Jan 2026 13:00:00 GMT',
  'date-unknown-day-name': 'Xxx, 15 Jan 2026 13:00:00 GMT',
  'date-no-day-name': '15 Jan 2026 13:00:00 GMT',
  'date-quoted': '"Thu, 15 Jan 2026 13:00:00 GMT"',
  'date-parameter': 'Thu, 15 Jan 2026 13:00:00 GMT; foo',
  'date-two': 'Thu, 15 Jan 2026 13:00:00 GMT, Thu, 15 Jan 2026 14:00:00 GMT',
  'date-rfc850-long-year': 'Thursday, 15-Jan-2026 13:00:00 GMT',
  'date-rfc850-no-zone': 'Thursday, 15-Jan-26 13:00:00',
  'date-rfc850-utc': 'Thursday, 15-Jan-26 13:00:00 UTC',
  'date-asctime-unpadded': 'Thu Jan 5 13:00:00 2027',
  'date-asctime-zone': 'Thu Jan 15 13:00:00 GMT 2026',
  'date-asctime-short-year': 'Thu Jan 15 13:00:00 26',
}

const expires = [
  rule(
    '9110 §5.6.7',
    'required',
    'the three forms of a date, in any case',
    named(good, (text) => freshFor(3600, { Expires: text })),
  ),
  rule(
    '9111 §5.3',
    'required',
    'an invalid Expires lies in the past',
    named(bad, (text) => staleAfter(0, { Expires: text, 'Last-Modified': at(-86_400) })),
  ),
  rule('9111 §5.3', 'required', 'Expires is compared with Date', {
    'expires-equal-date': staleAfter(0, { Date: at(0), Expires: at(0) }),
    'expires-before-date': staleAfter(0, { Date: at(0), Expires: at(-60) }),
    'expires-no-date': freshFor(60, { Expires: at(60) }, { reply: { dateless: true } }),
    'expires-bad-date': freshFor(60, { Date: 'foo', Expires: at(60) }),
    'expires-twice': staleAfter(0, { Expires: [at(60), at(3600)] }),
    'expires-old-date': [miss({ Date: at(-3600), Expires: at(-3540) }), miss({})],
    'expires-future-date': freshFor(60, { Date: at(3600), Expires: at(3660) }),
    'expires-far': [...stored({ Expires: 'Thu, 31 Dec 9999 23:59:59 GMT' }), hit({ wait: 86_400 * 365 })],
    'expires-leap-second': stored({ Expires: 'Thu, 15 Jan 2026 13:59:60 GMT' }),
    'expires-epoch': staleAfter(0, { Expires: 'Thu, 01 Jan 1970 00:00:00 GMT' }),
  }),
  rule('9110 §5.6.7', 'required', 'a two-digit year more than fifty years ahead is in the past', {
    'rfc850-year-75': stored({ Expires: 'Wednesday, 15-Jan-75 13:00:00 GMT' }),
    'rfc850-year-77': staleAfter(0, { Expires: 'Saturday, 15-Jan-77 13:00:00 GMT' }),
    'rfc850-year-99': staleAfter(0, { Expires: 'Friday, 15-Jan-99 13:00:00 GMT' }),
  }),
]

const pragma = [
  rule('9111 §5.4', 'ours', 'Pragma in a response has no meaning', {
    'pragma-response': stored({ Pragma: 'no-cache', 'Cache-Control': 'max-age=60' }),
    'pragma-response-expires': stored({ Pragma: 'no-cache', Expires: at(60) }),
    'pragma-response-unknown': stored({ Pragma: 'foo', 'Cache-Control': 'max-age=60' }),
  }),
]

export const freshness: Case[] = [lifetime, heuristics, expires, pragma].flat(2)
