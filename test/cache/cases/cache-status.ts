import { hit, miss, rule, type Case } from './case.ts'

const fresh = { 'Cache-Control': 'max-age=60', ETag: '"a"' }
const status = (value: string | RegExp) => ({ fields: { 'Cache-Status': value } })
const unreachable = (why: string) => ({
  status: 502,
  reply: { breaks: 'before' as const },
  body: { text: 'The shop is unreachable or sent an invalid response.\n' },
  ...status(`pagecache; fwd=${why}; detail="origin unreachable"`),
})

const members = [
  rule('9211 §2', 'ours', 'Cache-Status describes how a request was handled', {
    'status-miss': [miss(fresh, status('pagecache; fwd=miss; fwd-status=200; stored'))],
    'status-hit': [miss(fresh), hit(status('pagecache; hit; ttl=60'))],
    'status-ttl': [miss(fresh), hit({ wait: 45.5, ...status('pagecache; hit; ttl=14') })],
    'status-not-stored': [
      miss(
        { 'Cache-Control': 'no-store' },
        status('pagecache; fwd=miss; fwd-status=200; detail="Cache-Control: no-store"'),
      ),
    ],
    'status-404': [miss(fresh, { reply: { status: 404 }, ...status('pagecache; fwd=miss; fwd-status=404; stored') })],
    'status-stale-304': [
      miss(fresh),
      {
        wait: 70,
        asked: 1,
        body: 0,
        reply: { status: 304, fields: fresh },
        ...status('pagecache; fwd=stale; fwd-status=304; stored'),
      },
    ],
    'status-stale-200': [
      miss(fresh),
      miss(fresh, { wait: 70, ...status('pagecache; fwd=stale; fwd-status=200; stored') }),
    ],
    'status-post': [
      miss({}, { method: 'POST', requestBody: 'a', ...status(/^pagecache; fwd=method; fwd-status=200/) }),
    ],
    'status-bypass-cookie': [
      miss(
        {},
        {
          send: { Cookie: 'sw-cache-hash=not-cacheable' },
          ...status(/^pagecache; fwd=bypass; fwd-status=200; detail="[^"]+"$/),
        },
      ),
    ],
    'status-on-304': [
      miss(fresh),
      hit({ send: { 'If-None-Match': '"a"' }, status: 304, ...status('pagecache; hit; ttl=60') }),
    ],
    'status-on-206': [
      miss(fresh, { reply: { body: '0123' } }),
      hit({ send: { Range: 'bytes=0-0' }, status: 206, body: { text: '0' }, ...status('pagecache; hit; ttl=60') }),
    ],
    'status-on-416': [
      miss(fresh, { reply: { body: '0123' } }),
      hit({ send: { Range: 'bytes=9-' }, status: 416, body: 'none', ...status('pagecache; hit; ttl=60') }),
    ],
    'status-unreachable': [{ asked: 2, ...unreachable('miss') }],
    'status-unreachable-method': [{ method: 'POST', asked: 1, ...unreachable('method') }],
    'status-unreachable-bypass': [{ send: { 'If-Match': '"a"' }, asked: 2, ...unreachable('bypass') }],
    'status-unreachable-stale': [
      miss({ ...fresh, 'Cache-Control': 'max-age=60, must-revalidate' }),
      { wait: 70, asked: 2, ...unreachable('stale') },
    ],
    'status-stale-negative-ttl': [
      miss({ 'Cache-Control': 'max-age=60, stale-if-error=60' }),
      {
        wait: 70,
        asked: 1,
        body: 0,
        reply: { status: 503 },
        ...status('pagecache; hit; ttl=-10; detail="stale-if-error 503"'),
      },
    ],
    'status-swr': [
      miss({ 'Cache-Control': 'max-age=60, stale-while-revalidate=60' }),
      {
        wait: 70,
        asked: 1,
        body: 0,
        background: true,
        reply: { fields: fresh },
        ...status('pagecache; hit; ttl=-10; detail="stale-while-revalidate"'),
      },
    ],
  }),
  rule('9211 §2', 'required', 'entries of caches nearer to the origin come first', {
    'status-list': [
      miss(
        { ...fresh, 'Cache-Status': 'inner; hit; ttl=9' },
        status('inner; hit; ttl=9, pagecache; fwd=miss; fwd-status=200; stored'),
      ),
      hit(status('inner; hit; ttl=9, pagecache; hit; ttl=60')),
    ],
  }),
]

export const cacheStatuses: Case[] = members.flat()
