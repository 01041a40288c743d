import { at, type Case, hit, miss, rule, stored } from './case.ts'
import { confirmed, dated, freshening, tagged } from './freshening.ts'

const sending = [
  rule('9111 §4.3.1', 'optimal', 'a stale page is validated with its validators', {
    'validate-etag': [
      miss(tagged()),
      confirmed(tagged(), { sent: { 'if-none-match': '"a"', 'if-modified-since': null } }),
    ],
    'validate-weak-etag': [
      miss(tagged(10, 'W/"a"')),
      confirmed(tagged(10, 'W/"a"'), { sent: { 'if-none-match': 'W/"a"' } }),
    ],
    'validate-last-modified': [
      miss(dated),
      confirmed(dated, { sent: { 'if-modified-since': at(-100), 'if-none-match': null } }),
    ],
    'validate-both': [
      miss({ ...tagged(), ...dated }),
      confirmed(tagged(), { sent: { 'if-none-match': '"a"', 'if-modified-since': at(-100) } }),
    ],
    'validate-404': [miss(tagged(), { reply: { status: 404 } }), confirmed(tagged(), { status: 404 })],
    'validate-odd-etag': [
      miss(tagged(10, 'unquoted')),
      confirmed({ 'Cache-Control': 'max-age=10' }, { sent: { 'if-none-match': 'unquoted' } }),
    ],
  }),
  rule('9111 §4.3.1', 'required', 'a page without validators is refetched', {
    'validate-none': [
      miss({ 'Cache-Control': 'max-age=10' }),
      miss({}, { wait: 20, sent: { 'if-none-match': null, 'if-modified-since': null } }),
    ],
  }),
  rule('9111 §4.3.1', 'ours', "a visitor's conditions do not reach the origin", {
    'validate-not-visitors': [
      miss(tagged(), {
        send: { 'If-None-Match': '"b"', 'If-Modified-Since': at(-5) },
        sent: { 'if-none-match': null, 'if-modified-since': null },
      }),
      hit(),
    ],
    'validate-ours-not-visitors': [
      miss(tagged()),
      confirmed(tagged(), { send: { 'If-None-Match': '"b"' }, sent: { 'if-none-match': '"a"' } }),
    ],
    'validate-each-variant': [
      miss({ ...tagged(), Vary: 'Foo' }, { send: { Foo: '1' } }),
      miss({ ...tagged(10, '"b"'), Vary: 'Foo' }, { send: { Foo: '2' } }),
      confirmed(tagged(10, '"b"'), { send: { Foo: '2' }, sent: { 'if-none-match': '"b"' }, body: 1 }),
    ],
  }),
  rule('9111 §5.2.2.4', 'required', 'no-cache: not reused without validation', {
    'no-cache': [
      miss({ 'Cache-Control': 'no-cache, max-age=3600' }),
      miss({ 'Cache-Control': 'no-cache, max-age=3600' }),
    ],
    'no-cache-capitals': [miss({ 'Cache-Control': 'No-Cache, max-age=3600' }), miss({})],
    'no-cache-expires': [miss({ 'Cache-Control': 'no-cache', Expires: at(3600) }), miss({})],
    'no-cache-s-maxage': [miss({ 'Cache-Control': 's-maxage=3600, no-cache' }), miss({})],
    'no-cache-second-line': [miss({ 'Cache-Control': ['max-age=3600', 'no-cache'] }), miss({})],
    'no-cache-empty-fields': [miss({ 'Cache-Control': 'max-age=3600, no-cache=""' }), miss({})],
  }),
  rule('9111 §5.2.2.4', 'optimal', 'no-cache: stored, and reused after validation', {
    'no-cache-validated': [
      miss({ 'Cache-Control': 'no-cache, max-age=3600', ETag: '"a"' }),
      confirmed({ ETag: '"a"' }, { wait: 0, sent: { 'if-none-match': '"a"' } }),
      confirmed({ ETag: '"a"' }, { wait: 0 }),
    ],
  }),
]

const receiving = [
  rule('9111 §4.3.3', 'optimal', '304: the stored page is freshened and reused', {
    'freshen-fresh-again': [miss(tagged()), confirmed(tagged()), hit({ wait: 9 }), confirmed(tagged(), { wait: 1 })],
    'freshen-new-lifetime': [miss(tagged()), confirmed(tagged(60)), hit({ wait: 50 })],
    'freshen-last-modified': [miss(dated), confirmed({ 'Cache-Control': 'max-age=60' }), hit({ wait: 50 })],
    'freshen-expires': [
      miss({ Expires: at(10), ETag: '"a"' }),
      confirmed({ Expires: at(100), ETag: '"a"' }),
      hit({ wait: 50 }),
    ],
    'freshen-no-lifetime-keeps-the-old': [miss(tagged()), confirmed({ ETag: '"a"' }), hit({ wait: 5 })],
    'freshen-weak': [miss(tagged(10, 'W/"a"')), confirmed(tagged(60, 'W/"a"')), hit({ wait: 50 })],
  }),
  rule('9111 §4.3.3', 'required', 'a full response replaces the stored page', {
    'validate-changed': [
      miss(tagged()),
      miss(tagged(60, '"b"'), { wait: 20 }),
      hit({ wait: 30, body: 1, fields: { ETag: '"b"' } }),
    ],
    'validate-gone': [
      miss(tagged()),
      miss({ 'Cache-Control': 'max-age=60' }, { wait: 20, reply: { status: 410 } }),
      hit({ wait: 30, status: 410, body: 1 }),
    ],
    'validate-now-private': [
      miss(tagged()),
      miss({ 'Cache-Control': 'private, max-age=60' }, { wait: 20 }),
      miss({ 'Cache-Control': 'private' }),
    ],
    'validate-redirect': [
      miss(tagged()),
      miss({ 'Cache-Control': 'max-age=60', Location: '/x' }, { wait: 20, reply: { status: 301 } }),
      hit({ status: 301, body: 1, fields: { Location: '/x' } }),
    ],
  }),
  rule('9111 §4.3.3', 'required', 'a server error is forwarded unless a stale page is allowed', {
    'validate-500': [
      miss({ ...tagged(), 'Cache-Control': 'max-age=10, must-revalidate' }),
      miss({}, { wait: 20, reply: { status: 500 } }),
      confirmed(tagged(), { wait: 0 }),
    ],
    'validate-503': [miss(tagged()), miss({}, { wait: 20, reply: { status: 503 } })],
  }),
]

const rules = [
  rule('9111 §4.3.5', 'ours', 'a HEAD without matching validators changes nothing', {
    'head-no-validator': [
      miss(tagged()),
      { wait: 20, method: 'HEAD', asked: 1, reply: { fields: { 'Cache-Control': 'max-age=60' } } },
      miss(tagged()),
    ],
    'head-of-unvalidated': [
      miss({ 'Cache-Control': 'max-age=10' }),
      { wait: 20, method: 'HEAD', asked: 1, reply: { fields: { 'Cache-Control': 'max-age=60' } } },
      miss(tagged()),
    ],
    'head-without-visitors-conditions': [
      miss(tagged()),
      {
        wait: 20,
        method: 'HEAD',
        asked: 1,
        status: 304,
        send: { 'If-None-Match': '"a"' },
        sent: { 'if-none-match': null },
        reply: { fields: tagged(60) },
      },
      hit(),
    ],
    'head-keeps-away-cookies': [
      miss(tagged()),
      {
        wait: 20,
        method: 'HEAD',
        asked: 1,
        fields: { 'Set-Cookie': 'a=1' },
        reply: { fields: { ...tagged(60), 'Set-Cookie': 'a=1' } },
      },
      hit({ fields: { 'Set-Cookie': null } }),
    ],
  }),
  rule('9111 §5.2.2.2', 'required', 'must-revalidate: a stale page is used only after validation', {
    'must-revalidate-fresh': stored({ 'Cache-Control': 'max-age=60, must-revalidate' }),
    'must-revalidate-stale': [
      miss({ ...tagged(), 'Cache-Control': 'max-age=10, must-revalidate' }),
      confirmed(tagged(), { sent: { 'if-none-match': '"a"' } }),
    ],
  }),
  rule('9111 §5.2.2.8', 'required', 'proxy-revalidate: a stale page is used only after validation', {
    'proxy-revalidate-fresh': stored({ 'Cache-Control': 'max-age=60, proxy-revalidate' }),
    'proxy-revalidate-stale': [miss({ 'Cache-Control': 'max-age=10, proxy-revalidate' }), miss({}, { wait: 20 })],
  }),
]

const origins = [
  rule('9111 §3', 'ours', 'a field that reflects the request is not stored from a 304', {
    'freshen-reflected': [
      miss(tagged()),
      confirmed({ ...tagged(60), 'X-Echo': 'hello-visitor-one' }, { send: { 'X-Mine': 'hello-visitor-one' } }),
      miss({}),
    ],
  }),
]

export const validation: Case[] = [sending, receiving, freshening, rules, origins].flat(2)
