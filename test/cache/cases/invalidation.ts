import { each, hit, miss, rule, type Case, type Step } from './case.ts'

const fresh = { 'Cache-Control': 'max-age=3600', ETag: '"a"' }

function unsafe(method: string, fields: Record<string, string> = {}, status = 200, more: Partial<Step> = {}): Step {
  return miss(fields, { method, ...(method === 'DELETE' ? {} : { requestBody: 'a=1' }), reply: { status }, ...more })
}

const again = miss(fresh, { sent: { 'if-none-match': null } })

const own = [
  rule('9111 §4.4', 'required', 'a successful unsafe request invalidates its target', {
    ...each(
      ['POST', 'PUT', 'DELETE', 'PATCH'],
      (method) => `invalidate-${method.toLowerCase()}`,
      (method) => [miss(fresh), hit(), unsafe(method), again],
    ),
    'invalidate-unknown-method': [miss(fresh), unsafe('FOO'), again],
    ...each(
      [201, 202, 204, 301, 302, 303, 307],
      (status) => `invalidate-status-${status}`,
      (status) => [miss(fresh), unsafe('POST', {}, status), again],
    ),
    'invalidate-all-variants': [
      miss({ ...fresh, Vary: 'Foo' }, { send: { Foo: '1' } }),
      miss({ ...fresh, Vary: 'Foo' }, { send: { Foo: '2' } }),
      unsafe('POST'),
      miss(fresh, { send: { Foo: '1' } }),
    ],
    'invalidate-query': [
      miss(fresh, { target: '?a=1' }),
      unsafe('POST', {}, 200, { target: '?a=1' }),
      miss(fresh, { target: '?a=1' }),
    ],
  }),
  rule('9111 §4.4', 'required', 'an unsuccessful unsafe request does not invalidate', {
    ...each(
      [400, 403, 404, 409, 422, 500, 503],
      (status) => `no-invalidate-status-${status}`,
      (status) => [miss(fresh), unsafe('POST', {}, status), hit()],
    ),
  }),
  rule('9111 §4.4', 'required', 'a safe request does not invalidate', {
    'no-invalidate-head': [miss(fresh), hit({ method: 'HEAD' }), hit()],
    'no-invalidate-options': [miss(fresh), unsafe('OPTIONS'), hit()],
    'no-invalidate-propfind': [miss(fresh), unsafe('PROPFIND'), hit()],
    'no-invalidate-get-location': [
      miss(fresh, { target: '?b' }),
      miss({ ...fresh, Location: '/no-invalidate-get-location?b' }),
      hit({ target: '?b' }),
    ],
  }),
  rule('9111 §4.4', 'required', 'other targets are not invalidated', {
    'no-invalidate-other-query': [
      miss(fresh, { target: '?a=1' }),
      unsafe('POST', {}, 200, { target: '?a=2' }),
      hit({ target: '?a=1' }),
    ],
    'no-invalidate-below': [miss(fresh, { target: '/x' }), unsafe('POST'), hit({ target: '/x' })],
  }),
]

function named(id: string, field: string, value: string, gone: boolean): Record<string, Step[]> {
  const target = '/named?x=1'
  return {
    [id]: [
      miss(fresh, { target }),
      unsafe('POST', { [field]: value.replace('@', `/${id}${target}`) }, 201),
      gone ? miss(fresh, { target }) : hit({ target }),
    ],
  }
}

const fields = [
  rule('9111 §4.4', 'optimal', 'Location and Content-Location on the same origin are invalidated', {
    ...named('location-absolute', 'Location', 'http://shop.example@', true),
    ...named('location-path', 'Location', '@', true),
    ...named('location-relative', 'Location', 'location-relative/named?x=1', true),
    ...named('location-default-port', 'Location', 'http://shop.example:80@', true),
    ...named('location-host-case', 'Location', 'http://SHOP.example@', true),
    ...named('location-fragment', 'Location', '@#top', true),
    ...named('content-location-absolute', 'Content-Location', 'http://shop.example@', true),
    ...named('content-location-path', 'Content-Location', '@', true),
  }),
  rule('9111 §4.4', 'required', 'Location and Content-Location on another origin are not invalidated', {
    ...named('location-other-host', 'Location', 'http://other.example@', false),
    ...named('location-other-port', 'Location', 'http://shop.example:8080@', false),
    ...named('location-other-scheme', 'Location', 'https://shop.example@', false),
    ...named('location-subdomain', 'Location', 'http://www.shop.example@', false),
    ...named('location-look-alike', 'Location', 'http://shop.example.evil@', false),
    ...named('location-no-url', 'Location', 'http://[@', false),
    ...named('content-location-other-host', 'Content-Location', 'http://other.example@', false),
  }),
  rule('9111 §4.4', 'required', 'Location and Content-Location of an error are not invalidated', {
    'location-after-error': [
      miss(fresh, { target: '?x' }),
      unsafe('POST', { Location: '/location-after-error?x' }, 500),
      hit({ target: '?x' }),
    ],
  }),
]

export const invalidation: Case[] = [own, fields].flat(2)
