import { at, hit, miss, rule, type Case, type Step } from './case.ts'

const page = { 'Cache-Control': 'max-age=3600', ETag: '"a"', 'Last-Modified': at(-1000), 'Content-Type': 'text/plain' }
const not = (send: Record<string, string | string[]>, fields: Record<string, string> = page): Step[] => [
  miss(fields),
  hit({ send, status: 304 }),
]
const whole = (send: Record<string, string | string[]>, fields: Record<string, string> = page): Step[] => [
  miss(fields),
  hit({ send }),
]

const { ETag: _, ...untagged } = page
const { 'Last-Modified': __, ...undated } = page

const noneMatch = [
  rule('9110 §13.1.2', 'optimal', 'If-None-Match: 304 when a listed tag matches weakly', {
    'inm-same': not({ 'If-None-Match': '"a"' }),
    'inm-weak-asked': not({ 'If-None-Match': 'W/"a"' }),
    'inm-weak-stored': not({ 'If-None-Match': '"a"' }, { ...page, ETag: 'W/"a"' }),
    'inm-both-weak': not({ 'If-None-Match': 'W/"a"' }, { ...page, ETag: 'W/"a"' }),
    'inm-list-first': not({ 'If-None-Match': '"a", "b"' }),
    'inm-list-last': not({ 'If-None-Match': '"b", "c","a"' }),
    'inm-list-mixed': not({ 'If-None-Match': 'W/"b", W/"a"' }),
    'inm-two-lines': not({ 'If-None-Match': ['"b"', '"a"'] }),
    'inm-star': not({ 'If-None-Match': '*' }),
    'inm-star-untagged': not({ 'If-None-Match': '*' }, untagged),
    'inm-comma-in-tag': not({ 'If-None-Match': '"a,b"' }, { ...page, ETag: '"a,b"' }),
    'inm-empty-tag': not({ 'If-None-Match': '""' }, { ...page, ETag: '""' }),
    'inm-head': [miss(page), hit({ method: 'HEAD', send: { 'If-None-Match': '"a"' }, status: 304 })],
  }),
  rule('9110 §13.1.2', 'required', 'If-None-Match: the page when no tag matches', {
    'inm-other': whole({ 'If-None-Match': '"b"' }),
    'inm-other-case': whole({ 'If-None-Match': '"A"' }),
    'inm-list-none': whole({ 'If-None-Match': '"b", W/"c"' }),
    'inm-untagged': whole({ 'If-None-Match': '"a"' }, untagged),
    'inm-part-of-tag': whole({ 'If-None-Match': '"aa"' }),
    'inm-split-comma-tag': whole({ 'If-None-Match': '"b,a"' }),
    'inm-inside-quotes': whole({ 'If-None-Match': '"x "a" y"' }, { ...page, ETag: '"a b"' }),
  }),
  rule('9110 §13.2.2', 'required', 'If-None-Match overrides If-Modified-Since', {
    'inm-over-ims': whole({ 'If-None-Match': '"b"', 'If-Modified-Since': at(0) }),
    'inm-over-old-ims': not({ 'If-None-Match': '"a"', 'If-Modified-Since': at(-9999) }),
    'inm-over-ims-untagged': whole({ 'If-None-Match': '"b"', 'If-Modified-Since': at(0) }, untagged),
  }),
]

const modifiedSince = [
  rule('9110 §13.1.3', 'optimal', 'If-Modified-Since: 304 when the page is not newer', {
    'ims-same': not({ 'If-Modified-Since': at(-1000) }),
    'ims-later': not({ 'If-Modified-Since': at(-10) }),
    'ims-ahead': not({ 'If-Modified-Since': at(9999) }),
    'ims-rfc850': not({ 'If-Modified-Since': 'Thursday, 15-Jan-26 11:50:00 GMT' }),
    'ims-asctime': not({ 'If-Modified-Since': 'Thu Jan 15 11:50:00 2026' }),
    'ims-head': [miss(page), hit({ method: 'HEAD', send: { 'If-Modified-Since': at(-10) }, status: 304 })],
  }),
  rule('9110 §13.1.3', 'required', 'If-Modified-Since: the page when it is newer', {
    'ims-earlier': whole({ 'If-Modified-Since': at(-1001) }),
  }),
  rule('9110 §13.1.3', 'required', 'an invalid If-Modified-Since is ignored', {
    'ims-malformed': whole({ 'If-Modified-Since': 'yesterday' }),
    'ims-malformed-zone': whole({ 'If-Modified-Since': 'Thu, 15 Jan 2026 11:50:00 UTC' }),
    'ims-two': whole({ 'If-Modified-Since': [at(-10), at(-10)] }),
  }),
  rule('9111 §4.3.2', 'optimal', 'Date replaces a missing Last-Modified', {
    'ims-date-equal': not({ 'If-Modified-Since': at(0) }, undated),
    'ims-date-later': not({ 'If-Modified-Since': at(10) }, undated),
    'ims-date-earlier': whole({ 'If-Modified-Since': at(-10) }, undated),
  }),
]

const answers = [
  rule('9110 §15.4.5', 'required', 'a 304 has the required fields and none that describe a body', {
    '304-fields': [
      miss({
        ...page,
        Vary: 'Foo',
        'Content-Location': '/x',
        Expires: at(3600),
        Date: at(0),
        'Content-Language': 'de',
      }),
      hit({
        send: { 'If-None-Match': '"a"' },
        status: 304,
        fields: {
          ETag: '"a"',
          'Cache-Control': 'max-age=3600',
          Vary: 'Foo',
          'Content-Location': '/x',
          Expires: at(3600),
          Date: at(0),
          'Content-Length': null,
          'Content-Type': null,
        },
      }),
    ],
  }),
  rule('9110 §13.2.1', 'required', 'conditions apply only to a 200', {
    'inm-on-404': [miss(page, { reply: { status: 404 } }), hit({ send: { 'If-None-Match': '"a"' }, status: 404 })],
    'ims-on-301': [
      miss({ ...page, Location: '/x' }, { reply: { status: 301 } }),
      hit({ send: { 'If-Modified-Since': at(0) }, status: 301 }),
    ],
  }),
  rule('9111 §4.3.2', 'optimal', 'a condition applies to a page that was just fetched', {
    'inm-on-miss': [miss(page, { send: { 'If-None-Match': '"a"' }, status: 304 }), hit()],
    'inm-on-stale': [
      miss({ ...page, 'Cache-Control': 'max-age=10' }),
      { wait: 20, asked: 1, send: { 'If-None-Match': '"a"' }, status: 304, reply: { status: 304, fields: page } },
      hit(),
    ],
    'inm-old-on-stale': [
      miss({ ...page, 'Cache-Control': 'max-age=10' }),
      { wait: 20, asked: 1, send: { 'If-None-Match': '"old"' }, body: 0, reply: { status: 304, fields: page } },
    ],
    'inm-on-replaced': [
      miss({ ...page, 'Cache-Control': 'max-age=10' }),
      miss({ ...page, ETag: '"b"' }, { wait: 20, send: { 'If-None-Match': '"b"' }, status: 304 }),
    ],
  }),
  rule('9110 §13.1.1', 'required', 'If-Match and If-Unmodified-Since are passed to the origin', {
    'if-match': [
      miss(page),
      miss({}, { send: { 'If-Match': '"a"' }, sent: { 'if-match': '"a"' }, reply: { status: 412 } }),
    ],
    'if-unmodified-since': [
      miss(page),
      miss(
        {},
        { send: { 'If-Unmodified-Since': at(0) }, sent: { 'if-unmodified-since': at(0) }, reply: { status: 412 } },
      ),
    ],
  }),
]

export const conditional: Case[] = [noneMatch, modifiedSince, answers].flat(2)
