import { each, hit, miss, rule, type Case, type Step } from './case.ts'

const tag = { ETag: '"a"' }
const grace = (directives: string) => ({ 'Cache-Control': `max-age=10, ${directives}`, ...tag })
const stale = (more: Partial<Step> = {}): Step => ({ asked: 1, status: 200, body: 0, ...more })
const errors = [500, 502, 503, 504]
const gone = { text: 'The shop is unreachable or sent an invalid response.\n' }

const whileRevalidate = [
  rule('5861 §3', 'optimal', 'stale-while-revalidate: serves the stale page and revalidates in the background', {
    'swr-replaced': [
      miss(grace('stale-while-revalidate=60')),
      stale({ wait: 20, background: true, reply: { fields: grace('stale-while-revalidate=60') } }),
      hit({ body: 1 }),
    ],
    'swr-confirmed': [
      miss(grace('stale-while-revalidate=60')),
      stale({
        wait: 20,
        background: true,
        sent: { 'if-none-match': '"a"' },
        reply: { status: 304, fields: grace('stale-while-revalidate=60') },
      }),
      hit(),
    ],
    'swr-without-validator': [
      miss({ 'Cache-Control': 'max-age=10, stale-while-revalidate=60' }),
      stale({ wait: 20, background: true, reply: { fields: { 'Cache-Control': 'max-age=10' } } }),
      hit({ body: 1 }),
    ],
    'swr-s-maxage': [
      miss({ 'Cache-Control': 's-maxage=10, stale-while-revalidate=60' }),
      stale({ wait: 20, background: true, reply: { fields: { 'Cache-Control': 's-maxage=10' } } }),
      hit({ body: 1 }),
    ],
    'swr-last-second': [
      miss(grace('stale-while-revalidate=60')),
      stale({ wait: 69, background: true, reply: { fields: grace('stale-while-revalidate=60') } }),
    ],
    'swr-age': [
      miss(grace('stale-while-revalidate=60')),
      stale({
        wait: 20,
        background: true,
        fields: { Age: '20' },
        reply: { fields: grace('stale-while-revalidate=60') },
      }),
    ],
    'swr-head': [
      miss(grace('stale-while-revalidate=60')),
      stale({ wait: 20, method: 'HEAD', background: true, reply: { fields: grace('stale-while-revalidate=60') } }),
      hit({ body: 1 }),
    ],
    'swr-conditional': [
      miss(grace('stale-while-revalidate=60')),
      stale({
        wait: 20,
        send: { 'If-None-Match': '"a"' },
        status: 304,
        background: true,
        reply: { fields: grace('stale-while-revalidate=60') },
      }),
    ],
    'swr-error-keeps': [
      miss(grace('stale-while-revalidate=60')),
      stale({ wait: 20, background: true, reply: { status: 500 } }),
    ],
  }),
  rule('5861 §3', 'required', 'not after its window, and not without one', {
    'swr-over': [miss(grace('stale-while-revalidate=60')), miss({}, { wait: 70 })],
    'swr-none': [miss(grace('foo')), miss({}, { wait: 11 })],
    'swr-zero': [miss(grace('stale-while-revalidate=0')), miss({}, { wait: 11 })],
    'swr-malformed': [miss(grace('stale-while-revalidate=x')), miss({}, { wait: 11 })],
    'swr-bare': [miss(grace('stale-while-revalidate')), miss({}, { wait: 11 })],
  }),
  rule('9111 §5.2.2.2', 'required', 'must-revalidate, proxy-revalidate and no-cache override it', {
    'swr-must-revalidate': [miss(grace('stale-while-revalidate=60, must-revalidate')), miss({}, { wait: 20 })],
    'swr-proxy-revalidate': [miss(grace('stale-while-revalidate=60, proxy-revalidate')), miss({}, { wait: 20 })],
    'swr-no-cache': [miss(grace('stale-while-revalidate=60, no-cache')), miss({})],
  }),
]

const ifError = [
  rule('5861 §4', 'optimal', 'stale-if-error: serves the stale page on a server error or unreachable origin', {
    ...each(
      errors,
      (status) => `sie-${status}`,
      (status) => [miss(grace('stale-if-error=60')), stale({ wait: 20, reply: { status } })],
    ),
    'sie-broken': [miss(grace('stale-if-error=60')), stale({ wait: 20, asked: 2, reply: { breaks: 'before' } })],
    'sie-broken-within': [
      miss(grace('stale-if-error=60')),
      stale({ wait: 20, reply: { fields: { 'Cache-Control': 'max-age=60' }, body: 'something', breaks: 'within' } }),
    ],
    'sie-storable': [
      miss(grace('stale-if-error=60')),
      stale({ wait: 20, reply: { status: 503, fields: { 'Cache-Control': 'max-age=60' } } }),
      stale({ reply: { status: 503 } }),
    ],
    'sie-s-maxage': [
      miss({ 'Cache-Control': 's-maxage=10, stale-if-error=60' }),
      stale({ wait: 20, reply: { status: 503 } }),
    ],
    'sie-last-second': [miss(grace('stale-if-error=60')), stale({ wait: 69, reply: { status: 503 } })],
    'sie-head': [miss(grace('stale-if-error=60')), stale({ wait: 20, method: 'HEAD', reply: { status: 503 } })],
    'sie-again': [
      miss(grace('stale-if-error=60')),
      stale({ wait: 20, reply: { status: 503 } }),
      stale({ reply: { status: 503 } }),
      miss(grace('foo')),
    ],
    'sie-age': [miss(grace('stale-if-error=60')), stale({ wait: 20, reply: { status: 503 }, fields: { Age: '20' } })],
  }),
  rule('5861 §4', 'required', 'not after its window, and not for other statuses', {
    'sie-over': [miss(grace('stale-if-error=60')), miss({}, { wait: 70, reply: { status: 503 } })],
    'sie-404': [miss(grace('stale-if-error=60')), miss({}, { wait: 20, reply: { status: 404 } })],
    'sie-403': [miss(grace('stale-if-error=60')), miss({}, { wait: 20, reply: { status: 403 } })],
    'sie-501': [miss(grace('stale-if-error=60')), miss({}, { wait: 20, reply: { status: 501 } })],
    'sie-none': [miss(grace('foo')), miss({}, { wait: 20, reply: { status: 503 } })],
    'sie-malformed': [miss(grace('stale-if-error=x')), miss({}, { wait: 20, reply: { status: 503 } })],
  }),
  rule('9111 §5.2.2.2', 'required', 'must-revalidate, proxy-revalidate and no-cache override it', {
    'sie-must-revalidate': [
      miss(grace('stale-if-error=60, must-revalidate')),
      miss({}, { wait: 20, reply: { status: 503 } }),
    ],
    'sie-proxy-revalidate': [
      miss(grace('stale-if-error=60, proxy-revalidate')),
      miss({}, { wait: 20, reply: { status: 503 } }),
    ],
    'sie-no-cache': [miss(grace('stale-if-error=60, no-cache')), miss({}, { reply: { status: 503 } })],
  }),
]

const disconnected = [
  rule('9111 §4.2.4', 'optimal', 'disconnected: serves a stale page', {
    'disconnected-max-age': [miss(grace('foo')), stale({ wait: 3600, asked: 2, reply: { breaks: 'before' } })],
    'disconnected-broken-within': [
      miss(grace('foo')),
      stale({ wait: 20, reply: { fields: grace('foo'), body: 'something', breaks: 'within' } }),
    ],
    'disconnected-then-back': [
      miss(grace('foo')),
      stale({ wait: 20, asked: 2, reply: { breaks: 'before' } }),
      miss(grace('foo')),
    ],
  }),
  rule('9111 §4.2.4', 'required', 'disconnected: not when a directive forbids it', {
    ...each(
      ['must-revalidate', 'proxy-revalidate', 's-maxage=10', 'no-cache'],
      (directive) => `disconnected-${directive.replace(/\W/g, '-')}`,
      (directive) => [
        miss(grace(directive)),
        { wait: 20, asked: 2, status: 502, body: gone, reply: { breaks: 'before' } },
      ],
    ),
  }),
  rule('9111 §4.2.4', 'ours', 'disconnected: not after a week', {
    'disconnected-a-week': [
      miss(grace('foo')),
      { wait: 8 * 86_400, asked: 2, status: 502, body: gone, reply: { breaks: 'before' } },
    ],
  }),
]

export const staleness: Case[] = [whileRevalidate, ifError, disconnected].flat(2)
