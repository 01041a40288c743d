import { describe, expect, it } from 'vitest'
import { cacheStatistics, clearPages, listPages } from '../../src/operations/cache.ts'
import { initProject } from '../../src/operations/init.ts'
import { toRequest } from '../../src/remote/to-request.ts'
import { runCommand } from '../helpers/commands.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { cleared, json, openAt, startPlayed } from './played-daemon.ts'

it.each([
  [['stage:delete', '0190c0de-0000-7000-8000-00000000000a'], 'keep or remove its events?'],
  [['stage:delete', '0190c0de-0000-7000-8000-00000000000a', '--events', 'remove'], 'and remove its events?'],
  [['customer:delete', '10042'], 'from all events?'],
])('a question about a daemon names it: %j', async (args, question) => {
  const { code, stderr } = await runCommand([...args, '--server', 'https://cache.example'], await tempDir(), {
    PAGECACHE_CLIENT_ID: 'me',
    PAGECACHE_CLIENT_SECRET: 'secret',
  })
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(new RegExp(`On https://cache\\.example: .*${question.replace('?', '\\?')}`)) as string,
  ])
})

describe('a token', () => {
  it('of a revoked client is requested once, not with every reading of a monitor', async () => {
    const { daemon } = await startPlayed()
    daemon.on('/api/_action/vendor-cache/clear', {
      status: 401,
      headers: json,
      body: JSON.stringify({ success: false, message: 'The client is revoked.' }),
    })
    const { remote } = await openAt(daemon.url)
    const ask = () => Promise.allSettled([1, 2, 3, 4, 5].map(() => remote.perform(clearPages, {})))
    await remote.perform(clearPages, {}).catch(() => {})
    const before = daemon.hits('/api/oauth/token')
    daemon.on('/api/oauth/token', {
      status: 401,
      headers: json,
      body: JSON.stringify({ error: 'invalid_client', success: false, message: 'no' }),
    })
    for (const _ of [1, 2, 3])
      for (const { reason } of (await ask()) as PromiseRejectedResult[])
        expect(reason).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(daemon.hits('/api/oauth/token')).toBe(before + 1)
  })

  it.each([
    [
      'the daemon',
      json,
      JSON.stringify({ error: 'invalid_client', success: false, message: 'no' }),
      { code: 'UNAUTHORIZED', hint: expect.stringContaining('client:create') as string },
    ],
    [
      'the shop',
      json,
      JSON.stringify({ errors: [{ code: '4', status: '401', title: 'Client authentication failed', detail: null }] }),
      { code: 'UNAUTHORIZED', hint: expect.stringContaining('auth.mode: shop') as string },
    ],
    [
      'what stands before them',
      { 'content-type': 'text/html' },
      '<h1>401 Authorization Required</h1>',
      { code: 'SERVER_UNREACHABLE', message: expect.stringContaining('responded with status 401') as string },
    ],
  ])('that %s refuses is an error with a fitting hint', async (_, headers, body, error) => {
    const { daemon } = await startPlayed()
    daemon.on('/api/oauth/token', { status: 401, headers, body })
    const { remote } = await openAt(daemon.url)
    await expect(remote.perform(clearPages, {})).rejects.toMatchObject(error)
  })

  it('is fetched once for several operations', async () => {
    const { daemon, tokens } = await startPlayed()
    daemon.on('/api/_action/vendor-cache/clear', { headers: json, body: JSON.stringify(cleared) })
    const { remote } = await openAt(daemon.url)
    for (const _ of [1, 2, 3]) expect(await remote.perform(clearPages, {})).toEqual(cleared)
    expect(tokens).toEqual(['token-1'])
    expect(daemon.last('/api/_action/vendor-cache/clear').headers['authorization']).toBe('Bearer token-1')
  })

  it('is renewed before it expires', async () => {
    const { daemon, tokens } = await startPlayed({ expiresIn: 20 })
    daemon.on('/api/_action/vendor-cache/clear', { headers: json, body: JSON.stringify(cleared) })
    const { remote } = await openAt(daemon.url)
    for (const _ of [1, 2]) await remote.perform(clearPages, {})
    expect(tokens).toEqual(['token-1', 'token-2'])
  })

  it('that was revoked is renewed silently, once', async () => {
    const { daemon, tokens } = await startPlayed()
    daemon.on('/api/_action/vendor-cache/clear', (request) =>
      request.headers['authorization'] === 'Bearer token-1'
        ? {
            status: 401,
            headers: json,
            body: JSON.stringify({ success: false, message: 'The bearer token has expired.' }),
          }
        : { headers: json, body: JSON.stringify(cleared) },
    )
    const { remote, told } = await openAt(daemon.url)
    expect(await remote.perform(clearPages, {})).toEqual(cleared)
    expect([tokens, told]).toEqual([['token-1', 'token-2'], []])
    daemon.on('/api/_action/vendor-cache/clear', {
      status: 401,
      headers: json,
      body: JSON.stringify({ success: false, message: 'No.' }),
    })
    await expect(remote.perform(clearPages, {})).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: 'No.',
      exit: 4,
    })
    expect(tokens.length).toBe(3)
  })
})

describe('an answer that is none of success', () => {
  const failing: [status: number, headers: Record<string, string>, expected: object][] = [
    [400, {}, { code: 'INVALID_INPUT', exit: 2 }],
    [403, {}, { code: 'FORBIDDEN', exit: 4 }],
    [404, {}, { code: 'NOT_FOUND', exit: 3 }],
    [409, {}, { code: 'WRONG_STATE', exit: 3 }],
    [429, {}, { code: 'TOO_MANY_REQUESTS', exit: 1 }],
    [500, {}, { code: 'SERVER_FAILED', exit: 1 }],
    [503, { 'pagecache-error': 'STORE_BUSY' }, { code: 'STORE_BUSY', exit: 5 }],
    [
      503,
      { 'pagecache-error': 'STORE_BUSY', 'x-request-id': 'a-1' },
      { code: 'STORE_BUSY', hint: 'See request a-1 in the log of the daemon.' },
    ],
    [500, { 'x-request-id': 'a b\u009b' }, { code: 'SERVER_FAILED', hint: null }],
    [404, { 'x-request-id': 'a-1' }, { code: 'NOT_FOUND', hint: null }],
    [
      404,
      { 'pagecache-error': 'NOT_FOUND', 'pagecache-hint': encodeURIComponent('Ask “again”.') },
      { code: 'NOT_FOUND', hint: 'Ask “again”.' },
    ],
    [400, { 'pagecache-error': 'constructor', 'pagecache-hint': '%' }, { code: 'INVALID_INPUT', hint: null }],
  ]

  it.each(failing)('%d %j', async (status, headers, expected) => {
    const { daemon } = await startPlayed()
    daemon.on('/api/_action/vendor-cache/stats', {
      status,
      headers: { ...json, ...headers },
      body: JSON.stringify({ success: false, message: 'So it is.' }),
    })
    const { remote } = await openAt(daemon.url)
    await expect(remote.perform(cacheStatistics, {})).rejects.toMatchObject({
      message: expect.stringContaining('So it is.') as string,
      ...expected,
    })
  })

  it.each([
    [200, 'text/html', '<h1>Shop</h1>'],
    [404, 'text/html', 'none'],
    [200, 'application/json', '"text"'],
    [302, 'text/plain', ''],
    [500, 'application/json', '{"errors":[]}'],
  ])('%d %s %s is reported as not coming from a pagecache daemon', async (status, type, body) => {
    const { daemon } = await startPlayed()
    daemon.on('/api/_action/vendor-cache/stats', {
      status,
      headers: { 'content-type': type, location: '/elsewhere' },
      body,
    })
    const { remote } = await openAt(daemon.url)
    await expect(remote.perform(cacheStatistics, {})).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: expect.stringContaining('not as a pagecache daemon') as string,
    })
    expect(daemon.hits('/elsewhere')).toBe(0)
  })
})

it('invalid input and local operations are rejected before anything is sent', async () => {
  const { daemon } = await startPlayed()
  const { remote } = await openAt(daemon.url)
  await expect(remote.perform(listPages, { limit: 0 })).rejects.toMatchObject({ code: 'INVALID_INPUT', exit: 2 })
  await expect(remote.perform(initProject, {})).rejects.toMatchObject({ code: 'USAGE', exit: 2 })
  expect(daemon.hits()).toBe(0)
})

it('messages of an operation are reported on this machine', async () => {
  const { daemon } = await startPlayed()
  daemon.on('/api/_action/vendor-cache/clear', {
    headers: { ...json, 'pagecache-notes': encodeURIComponent('one\ntwo – three') },
    body: JSON.stringify(cleared),
  })
  const { remote, told } = await openAt(daemon.url)
  await remote.perform(clearPages, {})
  expect(told).toEqual(['one', 'two – three'])
})

it('an unencrypted address gets one warning, except on loopback', async () => {
  expect((await openAt('http://cache.example:8080')).told).toEqual([expect.stringContaining('not encrypted')])
  expect((await openAt('http://cache.example:8080')).told).toEqual([])
  for (const server of ['https://cache.example', 'http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:1'])
    expect((await openAt(server)).told).toEqual([])
})

it.each([
  [
    { method: 'GET', path: '/pages' } as const,
    { limit: 5, type: undefined, tag: null, names: ['a', 'b'] },
    '/api/_action/vendor-cache/pages?limit=5&names=a&names=b',
    null,
  ],
  [
    { method: 'PATCH', path: '/stages/{id}', prefix: 'vendor-stage' } as const,
    { id: 'a/b', name: 'x', cap: null },
    '/api/_action/vendor-stage/stages/a%2Fb',
    '{"name":"x","cap":null}',
  ],
  [{ method: 'POST', path: '/clear' } as const, {}, '/api/_action/vendor-cache/clear', '{}'],
])('%j with %j', (http, input, path, body) => {
  expect(toRequest(http, input)).toMatchObject({ method: http.method, path, body })
})
