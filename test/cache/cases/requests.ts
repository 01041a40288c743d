import type { Fields } from '../scripted-origin.ts'
import { each, hit, miss, rule, type Case, type Step } from './case.ts'

const fresh = { 'Cache-Control': 'max-age=60' }
const missing = { text: 'The page is not cached, and the request is only-if-cached.\n' }

const advisory = [
  rule('9111 §5.2.1', 'ours', 'request directives are ignored: a browser reload does not reach the shop', {
    ...each(
      [
        'no-cache',
        'max-age=0',
        'max-age=5',
        'min-fresh=3600',
        'max-stale',
        'max-stale=10',
        'no-transform',
        'foo',
        'max-age=x',
      ],
      (directive) => `request-${directive.replace(/\W/g, '-')}`,
      (directive) => [miss(fresh), hit({ wait: 10, send: { 'Cache-Control': directive } })],
    ),
    'request-pragma': [miss(fresh), hit({ send: { Pragma: 'no-cache' } })],
    'request-no-store-reads': [miss(fresh), hit({ send: { 'Cache-Control': 'no-store' } })],
    'request-max-stale-stale': [miss(fresh), miss({}, { wait: 70, send: { 'Cache-Control': 'max-stale=3600' } })],
    'request-directives-stay': [
      miss(fresh, {
        send: { 'Cache-Control': 'no-cache', Pragma: 'no-cache' },
        sent: { 'cache-control': null, pragma: null },
      }),
      hit(),
    ],
  }),
  rule('9111 §5.2.1.7', 'required', 'only-if-cached: a cached page or a 504', {
    'only-if-cached-hit': [miss(fresh), hit({ send: { 'Cache-Control': 'only-if-cached' } })],
    'only-if-cached-capitals': [{ asked: 0, status: 504, body: missing, send: { 'Cache-Control': 'Only-If-Cached' } }],
    'only-if-cached-miss': [
      { asked: 0, status: 504, body: missing, send: { 'Cache-Control': 'only-if-cached' } },
      miss(fresh),
    ],
    'only-if-cached-stale': [
      miss(fresh),
      { wait: 70, asked: 0, status: 504, body: missing, send: { 'Cache-Control': 'only-if-cached' } },
    ],
    'only-if-cached-other-variant': [
      miss({ ...fresh, Vary: 'Foo' }, { send: { Foo: '1' } }),
      { asked: 0, status: 504, body: missing, send: { 'Cache-Control': 'only-if-cached', Foo: '2' } },
    ],
  }),
]

const interim = [
  rule('9110 §15.2', 'required', 'interim responses are forwarded to the visitor', {
    'interim-103': [
      miss(fresh, { reply: { interim: [{ status: 103, fields: { Link: '</a.css>; rel=preload' } }] }, interim: [103] }),
      hit({ interim: [] }),
    ],
    'interim-102': [miss(fresh, { reply: { interim: [{ status: 102 }] }, interim: [102] }), hit()],
    'interim-several': [
      miss(fresh, {
        reply: { interim: [{ status: 102 }, { status: 103 }, { status: 103 }] },
        interim: [102, 103, 103],
      }),
      hit(),
    ],
    'interim-unknown': [miss(fresh, { reply: { interim: [{ status: 199 }] }, interim: [199] }), hit()],
    'interim-passed': [
      miss(
        { 'Cache-Control': 'no-store' },
        { method: 'POST', requestBody: 'a', reply: { interim: [{ status: 103 }] }, interim: [103] },
      ),
    ],
    'interim-on-validation': [
      miss({ ...fresh, ETag: '"a"' }),
      {
        wait: 70,
        asked: 1,
        body: 0,
        interim: [103],
        reply: { status: 304, fields: { ...fresh, ETag: '"a"' }, interim: [{ status: 103 }] },
      },
      hit(),
    ],
  }),
]

/** A 204 for which the shop announces a body. */
function unsized(more: Partial<Step> = {}, fields: Fields = {}): Step {
  return miss(
    { ...fields, 'Content-Length': '5' },
    { ...more, reply: { status: 204 }, fields: { 'Content-Length': null } },
  )
}

const passing = [
  rule('9110 §7.7', 'ours', 'requests that bypass the cache are passed through unchanged', {
    'pass-post': [
      miss(
        { 'X-A': '1' },
        {
          method: 'POST',
          requestBody: 'a=1',
          send: { 'X-B': '2' },
          sent: { 'x-b': '2', 'content-length': '3' },
          fields: { 'X-A': '1' },
        },
      ),
    ],
    'pass-conditions': [
      miss(
        {},
        { method: 'POST', requestBody: 'a', send: { 'If-None-Match': '"a"' }, sent: { 'if-none-match': '"a"' } },
      ),
    ],
    'pass-head': [miss(fresh, { method: 'HEAD', send: { 'If-None-Match': '"a"' }, sent: { 'if-none-match': '"a"' } })],
    'pass-unstored-error': [miss({}, { reply: { status: 500 } }), miss({}, { reply: { status: 500 } })],
  }),
  rule('9110 §8.6', 'required', 'a 204 has no Content-Length', {
    'no-content-passed': [unsized({ method: 'POST', requestBody: 'a' })],
    'no-content-passed-head': [unsized({ method: 'HEAD' })],
    'no-content-not-stored': [unsized(), unsized()],
    'no-content-stored': [
      unsized({}, fresh),
      hit({ status: 204, fields: { 'Content-Length': null } }),
      hit({ method: 'HEAD', status: 204, fields: { 'Content-Length': null } }),
    ],
  }),
  rule('9110 §9.3.1', 'ours', 'the response to a GET with a body or method override is not stored', {
    'get-with-body': [miss(fresh, { requestBody: 'a', sent: { 'content-length': null } }), miss(fresh)],
    'get-with-override': [
      miss(fresh, { send: { 'X-HTTP-Method-Override': 'DELETE' }, sent: { 'x-http-method-override': null } }),
      miss(fresh),
    ],
  }),
]

export const requests: Case[] = [advisory, interim, passing].flat(2)
