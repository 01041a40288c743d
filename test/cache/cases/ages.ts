import { at, freshFor, hit, miss, named, rule, staleAfter, stored, type Case } from './case.ts'

const age = (seconds: number) => ({ Age: String(seconds) })

const sent = [
  rule('9111 §5.1', 'required', 'a cached response has an Age', {
    'age-zero': [miss({ 'Cache-Control': 'max-age=60' }, { fields: { Age: null } }), hit({ fields: age(0) })],
    'age-grows': [
      miss({ 'Cache-Control': 'max-age=60' }),
      hit({ wait: 5, fields: age(5) }),
      hit({ wait: 10, fields: age(15) }),
    ],
    'age-whole-seconds': [miss({ 'Cache-Control': 'max-age=60' }), hit({ wait: 1.999, fields: age(1) })],
    'age-on-304': [
      miss({ 'Cache-Control': 'max-age=60', ETag: '"a"' }),
      hit({ wait: 7, send: { 'If-None-Match': '"a"' }, status: 304, fields: age(7) }),
    ],
    'age-on-head': [miss({ 'Cache-Control': 'max-age=60' }), hit({ wait: 7, method: 'HEAD', fields: age(7) })],
    'age-on-206': [
      miss({ 'Cache-Control': 'max-age=60' }, { reply: { body: '0123456789' } }),
      hit({ wait: 7, send: { Range: 'bytes=0-3' }, status: 206, body: { text: '0123' }, fields: age(7) }),
    ],
    'age-on-404': [
      miss({ 'Cache-Control': 'max-age=60' }, { reply: { status: 404 } }),
      hit({ wait: 7, status: 404, fields: age(7) }),
    ],
  }),
  rule('9111 §5.1', 'required', 'an upstream Age is passed on and increased', {
    'age-from-upstream': [
      miss({ 'Cache-Control': 'max-age=60', Age: '20' }, { fields: age(20) }),
      hit({ wait: 5, fields: age(25) }),
    ],
    'age-not-of-uncacheable': [miss({ 'Cache-Control': 'no-store', Age: '20' }, { fields: age(20) })],
    'age-anew-after-fetch': [
      miss({ 'Cache-Control': 'max-age=10' }),
      miss({ 'Cache-Control': 'max-age=10' }, { wait: 20 }),
      hit({ wait: 3, body: 1, fields: age(3) }),
    ],
    'age-anew-after-304': [
      miss({ 'Cache-Control': 'max-age=10', ETag: '"a"' }),
      { wait: 20, asked: 1, body: 0, reply: { status: 304, fields: { 'Cache-Control': 'max-age=10', ETag: '"a"' } } },
      hit({ wait: 3, fields: age(3) }),
    ],
    'age-of-304-from-upstream': [
      miss({ 'Cache-Control': 'max-age=10', ETag: '"a"' }),
      {
        wait: 20,
        asked: 1,
        body: 0,
        reply: { status: 304, fields: { 'Cache-Control': 'max-age=10', ETag: '"a"', Age: '4' } },
      },
      hit({ wait: 3, fields: age(7) }),
      miss({}, { wait: 3 }),
    ],
  }),
]

const calculation = [
  rule('9111 §4.2.3', 'required', 'age_value: the upstream Age reduces the remaining lifetime', {
    'age-shortens': freshFor(40, { 'Cache-Control': 'max-age=60', Age: '20' }),
    'age-shortens-s-maxage': freshFor(40, { 'Cache-Control': 's-maxage=60', Age: '20' }),
    'age-shortens-expires': freshFor(40, { Expires: at(60), Age: '20' }),
    'age-equals-lifetime': staleAfter(0, { 'Cache-Control': 'max-age=60', Age: '60' }),
    'age-over-lifetime': staleAfter(0, { 'Cache-Control': 'max-age=60', Age: '3600' }),
  }),
  rule(
    '9111 §4.2.3',
    'required',
    'apparent_age: the difference between Date and our clock counts where it is greater',
    {
      'date-old': freshFor(30, { 'Cache-Control': 'max-age=60', Date: at(-30) }),
      'date-older-than-age': freshFor(30, { 'Cache-Control': 'max-age=60', Date: at(-30), Age: '10' }),
      'date-younger-than-age': freshFor(30, { 'Cache-Control': 'max-age=60', Date: at(-10), Age: '30' }),
      'date-too-old': staleAfter(0, { 'Cache-Control': 'max-age=60', Date: at(-61) }),
      'date-ahead': freshFor(60, { 'Cache-Control': 'max-age=60', Date: at(3600) }),
      'date-malformed': freshFor(60, { 'Cache-Control': 'max-age=60', Date: 'foo' }),
      'date-rfc850': freshFor(30, { 'Cache-Control': 'max-age=60', Date: 'Thursday, 15-Jan-26 11:59:30 GMT' }),
      'date-asctime': freshFor(30, { 'Cache-Control': 'max-age=60', Date: 'Thu Jan 15 11:59:30 2026' }),
      'date-missing': freshFor(60, { 'Cache-Control': 'max-age=60' }, { reply: { dateless: true } }),
    },
  ),
  rule('9111 §4.2.3', 'required', 'response_delay: the response time adds to the age', {
    delay: [
      miss({ 'Cache-Control': 'max-age=60' }, { reply: { takes: 10, dateless: true } }),
      hit({ wait: 5, fields: age(15) }),
      miss({}, { wait: 45 }),
    ],
    'delay-on-age': [
      miss({ 'Cache-Control': 'max-age=60', Age: '20' }, { reply: { takes: 10, dateless: true } }),
      hit({ fields: age(30) }),
      miss({}, { wait: 30 }),
    ],
    'delay-or-date': [
      miss({ 'Cache-Control': 'max-age=60', Date: at(-30) }, { reply: { takes: 10 } }),
      hit({ fields: age(40) }),
    ],
  }),
]

const parsing = [
  rule('9111 §5.1', 'required', 'the first of several Age values counts', {
    'age-list': freshFor(40, { 'Cache-Control': 'max-age=60', Age: '20, 0' }),
    'age-list-reversed': freshFor(60, { 'Cache-Control': 'max-age=60', Age: '0, 3600' }),
    'age-two-lines': freshFor(40, { 'Cache-Control': 'max-age=60', Age: ['20', '0'] }),
    'age-two-lines-reversed': freshFor(60, { 'Cache-Control': 'max-age=60', Age: ['0', '3600'] }),
  }),
  rule('9111 §5.1', 'ours', 'an invalid Age is ignored', {
    ...named(
      {
        negative: '-3600',
        word: 'foo',
        fraction: '3600.5',
        hexadecimal: '0x1000',
        quoted: '"3600"',
        'letter-before': 'a3600',
        'letter-after': '3600a',
        nothing: '',
      },
      (value) => stored({ 'Cache-Control': 'max-age=60', Age: value }),
      'age-',
    ),
    'age-parameter': stored({ 'Cache-Control': 'max-age=60', Age: '3600;foo=bar' }),
  }),
  rule('9111 §1.2.2', 'required', 'an Age that overflows counts as very large', {
    'age-overflow-32': staleAfter(0, { 'Cache-Control': 'max-age=60', Age: '4294967296' }),
    'age-overflow-64': staleAfter(0, { 'Cache-Control': 'max-age=60', Age: '18446744073709551616' }),
    'age-overflow-100-digits': staleAfter(0, { 'Cache-Control': 'max-age=60', Age: '9'.repeat(100) }),
  }),
]

export const ages: Case[] = [sent, calculation, parsing].flat(2)
