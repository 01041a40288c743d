import { at, type Case, each, hit, miss, notStored, rule, stored, type Step } from './case.ts'
import { fresh, headers, incomplete, silent } from './storing-fields.ts'

const basic = { Authorization: 'Basic dmlzaXRvcjpzZWNyZXQ=' }

const final = [
  200, 203, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 414, 418, 429, 451, 500, 501, 502, 503, 504,
  599,
]

const heuristic = [200, 203, 300, 301, 308, 404, 405, 410, 414, 501]

const notHeuristic = [302, 303, 307, 400, 403, 451, 500, 502, 503, 504]

/** The visitor whose request caused the fetch gets the cookie with whatever becomes of the whole page. */
function cutFor(send: Step['send'], status: number, text: string): Step[] {
  const cookie = { ETag: '"a"', 'Cache-Control': 'public, max-age=3600', 'Set-Cookie': ['a=1', 'b=2'] }
  const answer = { send: send!, status, body: { text } }
  return [
    miss(cookie, { ...answer, reply: { body: '0123456789' }, fields: { 'Set-Cookie': 'a=1, b=2' } }),
    hit({ ...answer, fields: { 'Set-Cookie': null } }),
  ]
}

function empty205(how: Partial<Step>): Step[] {
  const seen = {
    ...how,
    status: 205,
    body: 'none',
    fields: { 'Content-Length': '0', 'Content-Encoding': null },
  } as const
  return [miss(fresh, seen), hit(seen)]
}

const methods = [
  rule('9111 §3', 'required', 'the request method is understood by the cache', {
    'method-post': [
      miss(fresh, { method: 'POST', requestBody: 'a' }),
      miss(fresh, { method: 'POST', requestBody: 'a' }),
    ],
    'method-put': [miss(fresh, { method: 'PUT', requestBody: 'a' }), miss(fresh)],
    'method-delete': [miss(fresh, { method: 'DELETE' }), miss(fresh)],
    'method-options': [miss(fresh, { method: 'OPTIONS' }), miss(fresh, { method: 'OPTIONS' })],
    'method-patch': [miss(fresh, { method: 'PATCH', requestBody: 'a' }), miss(fresh)],
    'method-unknown': [miss(fresh, { method: 'PROPFIND' }), miss(fresh)],
    'method-head-does-not-fill': [miss(fresh, { method: 'HEAD', body: 'none' }), miss(fresh)],
    'method-post-does-not-read': [miss(fresh), miss(fresh, { method: 'POST', requestBody: 'a' })],
  }),
  rule('9110 §9.3.3', 'ours', 'a response to POST is never reused, not even with Content-Location', {
    'post-content-location': [
      miss({ ...fresh, 'Content-Location': '/post-content-location' }, { method: 'POST', requestBody: 'a' }),
      miss(fresh),
    ],
  }),
  rule('9111 §3', 'optimal', 'HEAD is answered from a stored GET', {
    'method-head-from-get': [miss(fresh), hit({ method: 'HEAD', fields: { 'Content-Length': /^\d+$/ } })],
  }),
]

const statuses = [
  rule('9111 §3', 'required', 'the response status code is final', {
    'interim-not-stored': [
      miss(fresh, { reply: { interim: [{ status: 103, fields: { ...fresh, Link: '</a.css>; rel=preload' } }] } }),
      hit({ fields: { Link: null } }),
    ],
  }),
  rule('9111 §3', 'optimal', 'a response with explicit freshness may be stored with any status', {
    ...each(
      final,
      (status) => `status-explicit-${status}`,
      (status) => stored(fresh, { reply: { status } }),
    ),
    'status-explicit-204': stored(fresh, { reply: { status: 204 } }),
    'status-expires-418': stored({ Expires: at(3600) }, { reply: { status: 418 } }),
    'status-s-maxage-500': stored({ 'Cache-Control': 's-maxage=60' }, { reply: { status: 500 } }),
  }),
  rule('9111 §3', 'ours', 'a status about this request is never stored', {
    ...each(
      [406, 408, 412, 413, 416, 417, 421, 426, 431],
      (status) => `status-personal-${status}`,
      (status) => notStored(fresh, { reply: { status } }),
    ),
  }),
  rule('9110 §15.3.6', 'required', 'a stored 205 has no content, and a length that says so', {
    'status-205': empty205({ reply: { status: 205, body: '' } }),
    'status-205-with-content': empty205({ reply: { status: 205 } }),
    'status-205-with-coded-content': empty205({
      send: { 'Accept-Encoding': 'gzip' },
      reply: { status: 205, body: 'text '.repeat(1000), fields: { 'Content-Type': 'text/html' } },
    }),
  }),
  rule('9111 §4.2.2', 'optimal', 'a heuristically cacheable status may be stored without explicit freshness', {
    ...each(
      heuristic,
      (status) => `status-heuristic-${status}`,
      (status) => stored({ 'Last-Modified': at(-864_000) }, { reply: { status } }),
    ),
    'status-heuristic-204': stored({ 'Last-Modified': at(-864_000) }, { reply: { status: 204 } }),
  }),
  rule('9111 §4.2.2', 'required', 'any other status is not reused without explicit freshness', {
    ...each(
      notHeuristic,
      (status) => `status-no-heuristic-${status}`,
      (status) => notStored({ 'Last-Modified': at(-864_000) }, { reply: { status } }),
    ),
  }),
  rule('9111 §4.2.2', 'optimal', 'public makes another status cacheable on a heuristic', {
    'status-public-302': stored(
      { 'Last-Modified': at(-864_000), 'Cache-Control': 'public' },
      { reply: { status: 302 } },
    ),
    'status-public-599': stored(
      { 'Last-Modified': at(-864_000), 'Cache-Control': 'public' },
      { reply: { status: 599 } },
    ),
  }),
  rule('9111 §5.2.2.3', 'required', 'must-understand: an unknown status is not stored', {
    'must-understand-unknown': notStored(
      { 'Cache-Control': 'max-age=3600, must-understand' },
      { reply: { status: 599 } },
    ),
    'must-understand-unknown-no-store': notStored(
      { 'Cache-Control': 'max-age=3600, must-understand, no-store' },
      { reply: { status: 299 } },
    ),
  }),
  rule('9111 §5.2.2.3', 'optimal', 'must-understand: no-store is ignored for a known status', {
    'must-understand-known': stored({ 'Cache-Control': 'max-age=3600, must-understand, no-store' }),
    'must-understand-known-404': stored(
      { 'Cache-Control': 'no-store, must-understand, max-age=3600' },
      { reply: { status: 404 } },
    ),
  }),
  rule('9111 §5.2.2.3', 'required', 'must-understand does not override private', {
    'must-understand-private': notStored({ 'Cache-Control': 'max-age=3600, must-understand, no-store, private' }),
  }),
]

const directives = [
  rule('9111 §5.2.2.5', 'required', 'no-store: the response is not stored', {
    'no-store': notStored({ 'Cache-Control': 'no-store' }),
    'no-store-and-max-age': notStored({ 'Cache-Control': 'max-age=3600, no-store' }),
    'no-store-first': notStored({ 'Cache-Control': 'no-store, max-age=3600' }),
    'no-store-capitals': notStored({ 'Cache-Control': 'No-StOrE, max-age=3600' }),
    'no-store-second-line': notStored({ 'Cache-Control': ['max-age=3600', 'no-store'] }),
    'no-store-and-public': notStored({ 'Cache-Control': 'public, no-store, s-maxage=3600' }),
    'no-store-and-expires': notStored({ 'Cache-Control': 'no-store', Expires: at(3600) }),
    'no-store-with-value': notStored({ 'Cache-Control': 'max-age=3600, no-store=1' }),
    'no-store-after-malformed': notStored({ 'Cache-Control': 'max-age=3600, =, ;;, no-store' }),
    'no-store-within-garbage': notStored({ 'Cache-Control': 'max-age=3600 no-store' }),
  }),
  rule('9111 §5.2.2.7', 'required', 'private: a shared cache does not store the response', {
    private: notStored({ 'Cache-Control': 'private, max-age=3600' }),
    'private-capitals': notStored({ 'Cache-Control': 'PRIVATE, max-age=3600' }),
    'private-and-public': notStored({ 'Cache-Control': 'public, private, max-age=3600' }),
    'private-and-s-maxage': notStored({ 'Cache-Control': 'private, s-maxage=3600' }),
    'private-second-line': notStored({ 'Cache-Control': ['max-age=3600', 'private'] }),
    'private-unfinished-quote': notStored({ 'Cache-Control': 'max-age=3600, private="x' }),
  }),
  rule('9111 §5.2.2.7', 'ours', 'private with field names counts as private', {
    'private-fields': notStored({ 'Cache-Control': 'private="X-A", max-age=3600', 'X-A': '1' }),
  }),
  rule('9111 §5.2.1.5', 'required', 'no-store in the request: the response is not stored', {
    'request-no-store': [miss(fresh, { send: { 'Cache-Control': 'no-store' } }), miss(fresh)],
    'request-no-store-capitals': [miss(fresh, { send: { 'Cache-Control': 'foo, NO-STORE' } }), miss(fresh)],
  }),
  rule('9111 §5.2.2', 'required', 'directive names are case-insensitive, values may be quoted', {
    'max-age-capitals': stored({ 'Cache-Control': 'MaX-aGe=3600' }),
    'max-age-quoted': stored({ 'Cache-Control': 'max-age="3600"' }),
    's-maxage-quoted': stored({ 'Cache-Control': 's-maxage="3600"' }),
  }),
  rule('9111 §5.2.3', 'required', 'unknown directives are ignored', {
    'extension-bare': stored({ 'Cache-Control': 'foo, max-age=3600' }),
    'extension-value': stored({ 'Cache-Control': 'foo=bar, max-age=3600' }),
    'extension-quoted': stored({ 'Cache-Control': 'foo="bar", max-age=3600' }),
    'extension-quoted-comma': stored({ 'Cache-Control': 'foo="a, b", max-age=3600' }),
    'extension-quoting-no-store': stored({ 'Cache-Control': 'foo="no-store, private", max-age=3600' }),
    'extension-escaped-quote': stored({ 'Cache-Control': 'foo="a\\", no-store, b=\\"", max-age=3600' }),
    'extension-like-no-store': stored({ 'Cache-Control': 'no-stores, max-age=3600' }),
    'empty-elements': stored({ 'Cache-Control': ', , max-age=3600, ,' }),
  }),
]

const authorization = [
  rule('9111 §3.5', 'required', 'the response to a request with Authorization is not stored', {
    'auth-max-age': [miss(fresh, { send: basic }), miss(fresh)],
    'auth-expires': [miss({ Expires: at(3600) }, { send: basic }), miss(fresh)],
    'auth-proxy-revalidate': [
      miss({ 'Cache-Control': 'max-age=3600, proxy-revalidate' }, { send: basic }),
      miss(fresh),
    ],
  }),
  rule('9111 §3.5', 'optimal', 'the response to Authorization is stored with public, must-revalidate or s-maxage', {
    'auth-public': [miss({ 'Cache-Control': 'public, max-age=3600' }, { send: basic }), hit()],
    'auth-s-maxage': [miss({ 'Cache-Control': 's-maxage=3600' }, { send: basic }), hit()],
    'auth-must-revalidate': [miss({ 'Cache-Control': 'max-age=3600, must-revalidate' }, { send: basic }), hit()],
  }),
  rule('9111 §3.5', 'ours', 'a request with Authorization is never served from the cache', {
    'auth-not-from-cache': [
      miss({ 'Cache-Control': 'public, max-age=3600' }),
      miss({ 'Cache-Control': 'public, max-age=3600' }, { send: basic, sent: { authorization: basic.Authorization } }),
    ],
  }),
]

const cookies = [
  rule('9111 §7.3', 'ours', 'a response with Set-Cookie is stored only if public or s-maxage, without the cookie', {
    'set-cookie-max-age': notStored({ ...fresh, 'Set-Cookie': 'a=1' }),
    'set-cookie-expires': notStored({ Expires: at(3600), 'Set-Cookie': 'a=1' }),
    'set-cookie-public': [
      miss({ 'Cache-Control': 'public, max-age=3600', 'Set-Cookie': 'a=1' }, { fields: { 'Set-Cookie': 'a=1' } }),
      hit({ fields: { 'Set-Cookie': null } }),
    ],
    'set-cookie-s-maxage': [
      miss(
        { 'Cache-Control': 's-maxage=3600', 'Set-Cookie': ['a=1', 'b=2'] },
        { fields: { 'Set-Cookie': 'a=1, b=2' } },
      ),
      hit({ fields: { 'Set-Cookie': null } }),
    ],
    'set-cookie-range': cutFor({ Range: 'bytes=2-3' }, 206, '23'),
    'set-cookie-beyond': cutFor({ Range: 'bytes=20-' }, 416, ''),
    'set-cookie-not-modified': cutFor({ 'If-None-Match': '"a"' }, 304, ''),
    'set-cookie2': notStored({ ...fresh, 'Set-Cookie2': 'a=1' }),
  }),
  rule('9111 §7.3', 'ours', 'the response to a request with cookies is stored only if public or s-maxage', {
    'cookie-max-age': [miss(fresh, { send: { Cookie: 'session=1' } }), miss(fresh)],
    'cookie-public': [miss({ 'Cache-Control': 'public, max-age=3600' }, { send: { Cookie: 'session=1' } }), hit()],
    'cookie-s-maxage': [miss({ 'Cache-Control': 's-maxage=3600' }, { send: { Cookie: 'session=1' } }), hit()],
    'cookie-targeted': [miss({ 'CDN-Cache-Control': 'max-age=3600' }, { send: { Cookie: 'session=1' } }), hit()],
    'cookie-reads': [miss(fresh), hit({ send: { Cookie: 'session=1' } })],
  }),
]

export const storing: Case[] = [
  methods,
  statuses,
  directives,
  authorization,
  cookies,
  headers,
  incomplete,
  silent,
].flat(2)
