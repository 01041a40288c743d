import { at, hit, miss, rule, type Case, type Step } from './case.ts'

export const page = { 'Cache-Control': 'max-age=3600', ETag: '"a"', 'Last-Modified': at(-1000) }
export const digits = { reply: { body: '0123456789' } }

/** A range of a stored page of ten digits. */
function part(
  range: string,
  text: string,
  place: string,
  send: Record<string, string> = {},
  fields: Record<string, string> = page,
): Step[] {
  return [
    miss(fields, digits),
    hit({
      send: { Range: range, ...send },
      status: 206,
      body: { text },
      fields: { 'Content-Range': place, 'Content-Length': String(text.length) },
    }),
  ]
}

function all(
  range: string | string[],
  send: Record<string, string> = {},
  fields: Record<string, string> = page,
): Step[] {
  return [
    miss(fields, digits),
    hit({ send: { Range: range, ...send }, fields: { 'Content-Range': null, 'Content-Length': '10' } }),
  ]
}

function none(range: string): Step[] {
  return [
    miss(page, digits),
    hit({ send: { Range: range }, status: 416, body: 'none', fields: { 'Content-Range': 'bytes */10' } }),
  ]
}

/** The origin's response to a range of the ten digits. */
export const partial = (start: number, end: number, fields: Record<string, string> = page) => ({
  reply: {
    status: 206,
    body: '0123456789'.slice(start, end + 1),
    fields: { ...fields, 'Content-Range': `bytes ${start}-${end}/10` },
  },
})

/** A part of the ten digits, which the rest completes. */
function completed(
  [start, end]: [number, number],
  rest: [number, number],
  sent: Record<string, string>,
  fields: Record<string, string> = page,
  wait = 0,
): Step[] {
  const whole = { body: { text: '0123456789' }, fields: { 'Content-Range': null, 'Content-Length': '10' } }
  return [
    miss({}, { send: { Range: `bytes=${start}-${end}` }, ...partial(start, end, fields) }),
    miss({}, { wait, sent, ...partial(...rest, fields), status: 200, ...whole }),
    hit(whole),
    hit({ send: { Range: 'bytes=2-5' }, status: 206, body: { text: '2345' } }),
  ]
}

/** A part that is not completed: the whole page is requested. */
function uncombined(fields: Record<string, string>): Step[] {
  return [
    miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3, fields) }),
    miss(fields, { sent: { range: null, 'if-range': null }, ...digits }),
    hit({ body: 1 }),
  ]
}

const serving = [
  rule('9110 §14.2', 'optimal', 'a range of a stored page is served from it', {
    'range-first': part('bytes=0-3', '0123', 'bytes 0-3/10'),
    'range-middle': part('bytes=2-5', '2345', 'bytes 2-5/10'),
    'range-one-byte': part('bytes=9-9', '9', 'bytes 9-9/10'),
    'range-open': part('bytes=7-', '789', 'bytes 7-9/10'),
    'range-suffix': part('bytes=-3', '789', 'bytes 7-9/10'),
    'range-suffix-larger': part('bytes=-100', '0123456789', 'bytes 0-9/10'),
    'range-end-beyond': part('bytes=8-100', '89', 'bytes 8-9/10'),
    'range-all': part('bytes=0-9', '0123456789', 'bytes 0-9/10'),
    'range-unit-case': part('Bytes=0-1', '01', 'bytes 0-1/10'),
    'range-identity': part('bytes=0-1', '01', 'bytes 0-1/10', { 'Accept-Encoding': 'br, gzip' }),
  }),
  rule('9110 §14.1.1', 'required', 'a range beyond the page gets a 416', {
    'range-beyond': none('bytes=10-'),
    'range-far-beyond': none('bytes=100-200'),
    'range-suffix-zero': none('bytes=-0'),
  }),
  rule('9110 §14.2', 'required', 'other units and malformed ranges are ignored', {
    'range-other-unit': all('lines=0-1'),
    'range-no-unit': all('0-1'),
    'range-backwards': all('bytes=5-2'),
    'range-empty': all('bytes='),
    'range-dash': all('bytes=-'),
    'range-letters': all('bytes=a-b'),
    'range-negative': all('bytes=--3'),
  }),
  rule('9110 §14.2', 'ours', 'several ranges get the whole page', {
    'range-several': all('bytes=0-1,4-5'),
    'range-several-lines': all(['bytes=0-1', 'bytes=4-5']),
  }),
  rule('9110 §14.2', 'required', 'Range applies to GET only', {
    'range-head': [
      miss(page, digits),
      hit({ method: 'HEAD', send: { Range: 'bytes=0-1' }, fields: { 'Content-Range': null } }),
    ],
  }),
  rule('9110 §13.2.2', 'required', 'a condition is evaluated before the range', {
    'range-and-inm': [miss(page, digits), hit({ send: { Range: 'bytes=0-1', 'If-None-Match': '"a"' }, status: 304 })],
    'range-and-inm-other': part('bytes=0-1', '01', 'bytes 0-1/10', { 'If-None-Match': '"b"' }),
    'range-on-404': [
      miss(page, { reply: { status: 404, body: '0123456789' } }),
      hit({ send: { Range: 'bytes=0-1' }, status: 404 }),
    ],
  }),
  rule('9110 §15.3.7', 'required', 'a 206 has the fields of the 200', {
    'range-fields': [
      miss({ ...page, 'X-A': '1', 'Content-Type': 'text/plain' }, digits),
      hit({
        wait: 5,
        send: { Range: 'bytes=0-1' },
        status: 206,
        body: { text: '01' },
        fields: { ETag: '"a"', 'X-A': '1', 'Content-Type': 'text/plain', Age: '5', 'Last-Modified': at(-1000) },
      }),
    ],
  }),
]

const ifRange = [
  rule('9110 §13.1.5', 'required', 'If-Range: the range only when the validator is strong and equal', {
    'if-range-etag': part('bytes=0-1', '01', 'bytes 0-1/10', { 'If-Range': '"a"' }),
    'if-range-date': part('bytes=0-1', '01', 'bytes 0-1/10', { 'If-Range': at(-1000) }),
    'if-range-other': all('bytes=0-1', { 'If-Range': '"b"' }),
    'if-range-weak': all('bytes=0-1', { 'If-Range': 'W/"a"' }),
    'if-range-weak-stored': all('bytes=0-1', { 'If-Range': 'W/"a"' }, { ...page, ETag: 'W/"a"' }),
    'if-range-strong-on-weak': all('bytes=0-1', { 'If-Range': '"a"' }, { ...page, ETag: 'W/"a"' }),
    'if-range-earlier-date': all('bytes=0-1', { 'If-Range': at(-2000) }),
    'if-range-later-date': all('bytes=0-1', { 'If-Range': at(0) }),
    'if-range-malformed': all('bytes=0-1', { 'If-Range': 'foo' }),
    'if-range-date-that-is-not-strong': all(
      'bytes=0-1',
      { 'If-Range': at(0) },
      { ...page, 'Last-Modified': at(0), Date: at(0) },
    ),
    'if-range-without-range': [miss(page, digits), hit({ send: { 'If-Range': '"b"' } })],
  }),
]

const storing = [
  rule('9111 §3.3', 'required', 'a stored part is not served as the whole page', {
    'partial-then-whole': [miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3) }), miss(page, digits)],
    'partial-then-head': [
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3) }),
      miss(page, { method: 'HEAD', ...digits }),
    ],
    'partial-then-head-with-range': [
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3) }),
      miss(page, { method: 'HEAD', send: { Range: 'bytes=0-3' }, ...digits }),
    ],
    'partial-then-other-part': [
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3) }),
      miss({}, { send: { Range: 'bytes=4-7' }, ...partial(4, 7) }),
    ],
    'partial-then-overlap': [
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3) }),
      miss({}, { send: { Range: 'bytes=2-7' }, ...partial(2, 7) }),
    ],
    'partial-multipart': [
      miss(
        { ...page, 'Content-Type': 'multipart/byteranges; boundary=x' },
        { send: { Range: 'bytes=0-1,4-5' }, reply: { status: 206, body: '--x--' } },
      ),
      miss(page, { send: { Range: 'bytes=0-1' }, ...digits, status: 206, body: { text: '01' } }),
    ],
    'partial-no-content-range': [
      miss(page, { send: { Range: 'bytes=0-1' }, reply: { status: 206, body: '01' } }),
      miss(page, digits),
    ],
    'partial-unknown-total': [
      miss(
        { ...page, 'Content-Range': 'bytes 0-1/*' },
        { send: { Range: 'bytes=0-1' }, reply: { status: 206, body: '01' } },
      ),
      miss(page, digits),
    ],
    'partial-wrong-length': [
      miss(
        { ...page, 'Content-Range': 'bytes 0-5/10' },
        { send: { Range: 'bytes=0-5' }, reply: { status: 206, body: '01' } },
      ),
      miss(page, digits),
    ],
    'partial-no-store': [
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3, { 'Cache-Control': 'no-store' }) }),
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3) }),
    ],
  }),
  rule('9111 §3.3', 'optimal', 'a stored part serves ranges within it', {
    'partial-same': [
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3) }),
      hit({ send: { Range: 'bytes=0-3' }, status: 206, fields: { 'Content-Range': 'bytes 0-3/10' } }),
    ],
    'partial-within': [
      miss({}, { send: { Range: 'bytes=2-7' }, ...partial(2, 7) }),
      hit({
        send: { Range: 'bytes=3-5' },
        status: 206,
        body: { text: '345' },
        fields: { 'Content-Range': 'bytes 3-5/10' },
      }),
    ],
    'partial-suffix': [
      miss({}, { send: { Range: 'bytes=-4' }, ...partial(6, 9) }),
      hit({
        send: { Range: 'bytes=-2' },
        status: 206,
        body: { text: '89' },
        fields: { 'Content-Range': 'bytes 8-9/10' },
      }),
    ],
    'partial-suffix-as-open': [
      miss({}, { send: { Range: 'bytes=-4' }, ...partial(6, 9) }),
      hit({
        send: { Range: 'bytes=7-' },
        status: 206,
        body: { text: '789' },
        fields: { 'Content-Range': 'bytes 7-9/10' },
      }),
    ],
    'parts-side-by-side': [
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3) }),
      miss({}, { send: { Range: 'bytes=4-7' }, ...partial(4, 7) }),
      hit({ send: { Range: 'bytes=0-1' }, status: 206, body: { text: '01' } }),
      hit({ send: { Range: 'bytes=5-6' }, status: 206, body: { text: '56' } }),
    ],
  }),
  rule('9111 §3.4', 'optimal', 'only the rest of a stored part is requested', {
    'partial-completed-at-end': completed([0, 3], [4, 9], { range: 'bytes=4-', 'if-range': '"a"' }),
    'partial-completed-at-start': completed([6, 9], [0, 5], { range: 'bytes=0-5', 'if-range': '"a"' }),
    'partial-completed-by-date': completed(
      [0, 3],
      [4, 9],
      { range: 'bytes=4-', 'if-range': at(-1000) },
      { 'Cache-Control': 'max-age=3600', 'Last-Modified': at(-1000) },
    ),
    'partial-completed-when-stale': completed([0, 3], [4, 9], { range: 'bytes=4-', 'if-range': '"a"' }, page, 7200),
    'partial-changed-meanwhile': [
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3) }),
      miss({ ...page, ETag: '"b"' }, { sent: { range: 'bytes=4-' }, reply: { body: 'abcdefghij' } }),
      hit({ body: 1 }),
    ],
  }),
  rule('9111 §3.4', 'required', 'parts are combined only by a strong validator', {
    'partial-weak-etag': uncombined({ ...page, ETag: 'W/"a"' }),
    'partial-weak-date': uncombined({ 'Cache-Control': 'max-age=3600', 'Last-Modified': at(0), Date: at(0) }),
    'partial-without-validator': uncombined({ 'Cache-Control': 'max-age=3600' }),
  }),
  rule('9110 §14.2', 'optimal', 'a range that is not stored is requested as a range', {
    'range-forwarded': [
      miss(
        {},
        {
          send: { Range: 'bytes=0-3', 'If-Range': '"a"' },
          sent: { range: 'bytes=0-3', 'if-range': '"a"' },
          ...partial(0, 3),
        },
      ),
    ],
    'range-origin-sends-all': [
      miss(page, { send: { Range: 'bytes=0-3' }, ...digits, status: 206, body: { text: '0123' } }),
      hit({ body: 0 }),
    ],
    'range-416-fresh-from-origin': [
      miss(
        { ...page, 'Content-Range': 'bytes */10' },
        { send: { Range: 'bytes=20-' }, status: 416, reply: { status: 416 } },
      ),
      miss(page),
    ],
    'range-416-from-origin': [
      miss({ 'Content-Range': 'bytes */10' }, { send: { Range: 'bytes=20-' }, status: 416, reply: { status: 416 } }),
      miss(page),
    ],
  }),
]

export const ranges: Case[] = [serving, ifRange, storing].flat(2)
