import { at, hit, miss, rule, type Case, type Step } from './case.ts'
import { digits, page, partial } from './ranges.ts'

const staleWhile = 'max-age=60, stale-while-revalidate=3600'
const staleIfError = 'max-age=60, stale-if-error=3600'
const later = { ...page, ETag: '"b"', 'Last-Modified': at(-500) }

/** Bytes 5 to 9 of the file after it was replaced, for a visitor who has the beginning of a version. */
function resumed(ifRange: string): Step {
  return hit({ send: { Range: 'bytes=5-9', 'If-Range': ifRange }, status: 206, body: { text: '56789' } })
}

/** The whole file, for a visitor who has the beginning of another version. */
function restarted(ifRange: string, sent: Step['sent'] = { range: 'bytes=5-9', 'if-range': ifRange }): Step[] {
  const send = { Range: 'bytes=5-9', 'If-Range': ifRange }
  return [
    miss({}, { send: { Range: 'bytes=5-9' }, ...partial(5, 9, later) }),
    miss(later, { send, sent, ...digits, fields: { 'Content-Range': null } }),
    hit({ send, body: 1 }),
  ]
}

const ifRange = [
  rule('9110 §13.1.5', 'required', 'a stored part is not served where If-Range is false', {
    'partial-if-range-other': restarted('"a"'),
    'partial-if-range-weak': restarted('W/"b"', { range: null, 'if-range': null }),
    'partial-if-range-earlier-date': restarted(at(-1000)),
    'partial-if-range-malformed': restarted('foo', { range: null, 'if-range': null }),
    'partial-if-range-other-when-stale': [
      miss({}, { send: { Range: 'bytes=5-9' }, ...partial(5, 9, { ...later, 'Cache-Control': staleWhile }) }),
      miss(later, { wait: 120, send: { Range: 'bytes=5-9', 'If-Range': '"a"' }, ...digits }),
    ],
    'partial-if-range-other-when-the-origin-fails': [
      miss({}, { send: { Range: 'bytes=5-9' }, ...partial(5, 9, { ...later, 'Cache-Control': staleIfError }) }),
      miss({}, { wait: 120, send: { Range: 'bytes=5-9', 'If-Range': '"a"' }, reply: { status: 503 } }),
      hit({ asked: 1, send: { Range: 'bytes=5-9' }, reply: { status: 503 }, status: 206, body: { text: '56789' } }),
    ],
  }),
  rule('9110 §13.1.5', 'optimal', 'a stored part is served where If-Range is true', {
    'partial-if-range': [
      miss({}, { send: { Range: 'bytes=5-9' }, ...partial(5, 9, later) }),
      resumed('"b"'),
      resumed(at(-500)),
    ],
  }),
]

const conditions = [
  rule('9110 §13.2.2', 'required', 'a condition is evaluated before the range of a part', {
    'partial-and-inm': [
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3) }),
      hit({
        send: { Range: 'bytes=1-2', 'If-None-Match': 'W/"a"' },
        status: 304,
        fields: { ETag: '"a"', 'Content-Range': null, 'Content-Length': null },
      }),
      hit({ send: { Range: 'bytes=1-2', 'If-Modified-Since': at(-1000) }, status: 304 }),
      hit({ send: { Range: 'bytes=1-2', 'If-None-Match': '"b"' }, status: 206, body: { text: '12' } }),
    ],
    'partial-and-inm-from-origin': [
      miss(
        {},
        {
          send: { Range: 'bytes=0-3', 'If-None-Match': '"a"' },
          ...partial(0, 3),
          status: 304,
          fields: { ETag: '"a"', 'Content-Range': null, 'Content-Length': null },
        },
      ),
      hit({ send: { Range: 'bytes=0-3' }, status: 206 }),
    ],
    'partial-and-inm-when-stale': [
      miss({}, { send: { Range: 'bytes=0-3' }, ...partial(0, 3, { ...page, 'Cache-Control': staleIfError }) }),
      hit({
        wait: 120,
        asked: 1,
        send: { Range: 'bytes=0-3', 'If-None-Match': '"a"' },
        reply: { status: 503 },
        status: 304,
      }),
    ],
  }),
]

export const conditionsOfParts: Case[] = [ifRange, conditions].flat(2)
