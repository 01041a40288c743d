import { describe, expect, it, onTestFinished } from 'vitest'
import { inspectUrl } from '../../src/cache/inspect.ts'
import { parseNoVarySearch, reduced } from '../../src/cache/no-vary-search.ts'
import { toPageUrl } from '../../src/cache/purge-urls.ts'
import type { Selection } from '../../src/pages/page-store.ts'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { host, openSite, shopUrl } from './site.ts'

const shared = { 'Cache-Control': 'public, max-age=600', 'Content-Type': 'text/html' }

/** A shop that sends this value with every page, whose bodies are numbered. */
async function open(value: string | ((request: OriginRequest) => Reply)) {
  const site = await openSite()
  onTestFinished(() => site.close())
  let count = 0
  site.answers((request) => ({
    body: `page ${++count}`,
    ...(typeof value === 'string' ? { fields: { ...shared, 'No-Vary-Search': value } } : value(request)),
  }))
  return {
    site,
    get: async (target: string, long = false) => (await site.visit(target, { long })).text,
    targets: () => site.origin.requests.map(({ target }) => target),
  }
}

describe('the value', () => {
  const after = (value: string, query: string) => {
    const rule = parseNoVarySearch(value)
    return rule === null ? null : reduced({ path: '/p', query }, rule).query
  }

  it.each([
    ['params', '?a=1&b=2', ''],
    ['params=?1, key-order', '?a=1', ''],
    ['params=("b")', '?a=1&b=2', '?a=1'],
    ['params=("b" "a")', '?a=1&b=2', ''],
    ['params=("a+b" "%C3%A4")', '?a%20b=1&%C3%A4=2&c', '?c'],
    ['params=("a+b")', '?a+b=1&c=1', '?c=1'],
    ['params, except=("a")', '?a=1&b=2&c', '?a=1'],
    ['params=("b");x=1, unknown=5', '?a=1&b=2', '?a=1'],
    ['params=("b")', '?%zz=1&b=2', '?%zz=1'],
    ['params=("b")', '', ''],
  ])('%s makes %s to %s', (value, query, expected) => {
    expect(after(value, query)).toBe(expected)
  })

  it.each([
    '',
    'params=?0',
    'params=()',
    'key-order',
    'key-order=?0',
    'key-order=1, params',
    'params=5',
    'params="b"',
    'params=(b)',
    'params=("a" 1)',
    'params=("ä")',
    'params=("b"',
    'except=("a")',
    'params=("b"), except=("a")',
    'params, except',
    'params, except=(a)',
    'params, except="a"',
    '*',
    `params=("${'b'.repeat(2048)}")`,
    `params=(${'"b" '.repeat(129)})`,
  ])('%s changes nothing', (value) => {
    expect(after(value, '?a=1')).toBeNull()
  })

  it('is parsed in linear time', () => {
    const hostile = ['params=(', '"\\', 'a=(', 'params=("a" '].map((piece) => piece.repeat(2048 / piece.length))
    for (const value of hostile) expect(parseNoVarySearch(value)).toBeNull()
  })
})

describe('pages', () => {
  it('answer other values of the parameters that the shop ignores', async () => {
    const { get, targets } = await open('params=("ref")')
    expect(await get('/p?a=1&ref=x')).toBe('page 1')
    expect(await get('/p?a=1&ref=y')).toBe('page 2')
    for (const target of ['/p?a=1&ref=z', '/p?ref=z&a=1', '/p?a=1'])
      for (const long of [false, true]) expect(await get(target, long), target).toBe('page 2')
    expect(await get('/p?a=2&ref=z')).toBe('page 3')
    expect(await get('/p?ref=z')).toBe('page 4')
    expect(await get('/p')).toBe('page 4')
    expect(await get('/q?ref=z')).toBe('page 5')
    expect(targets()).toEqual(['/p?a=1&ref=x', '/p?a=1', '/p?a=2', '/p', '/q?ref=z'])
  })

  it('are not poisoned by a parameter that the shop ignores and reflects', async () => {
    const { get, targets } = await open((request) => ({
      fields: { ...shared, 'No-Vary-Search': 'params' },
      body: `link to ${request.target}`,
    }))
    await get('/p?ref=evil')
    expect(await get('/p?ref=good')).toBe('link to /p')
    expect(targets()).toEqual(['/p?ref=evil', '/p'])
  })

  it('come with all parameters where the shop does not repeat the rule', async () => {
    const { get, targets } = await open(({ target }) => ({
      fields: target.includes('mode') ? shared : { ...shared, 'No-Vary-Search': 'params=("ref")' },
      body: target,
    }))
    await get('/p?ref=a')
    expect(await get('/p?mode=full&ref=b')).toBe('/p?mode=full&ref=b')
    expect(await get('/p?mode=full&ref=c')).toBe('/p?mode=full&ref=c')
    expect(targets()).toEqual(['/p?ref=a', '/p?mode=full', '/p?mode=full&ref=b', '/p?mode=full&ref=c'])
  })

  it.each([
    ['a private response', { fields: { 'Cache-Control': 'private' } }],
    ['a redirect', { status: 302, fields: { Location: '/' } }],
    ['an error of the visitor', { status: 404 }],
    ['another rule', { fields: { ...shared, 'No-Vary-Search': 'params' } }],
    ['a broken rule', { fields: { ...shared, 'No-Vary-Search': 'params=(' } }],
  ])('come with all parameters after %s', async (_, reply: Reply) => {
    let next: Reply = { fields: { ...shared, 'No-Vary-Search': 'params=("ref")' } }
    const { get, targets } = await open(() => next)
    await get('/p?ref=a')
    next = reply
    await Promise.all([get('/p?a=1&ref=b'), get('/p?a=1&ref=b')])
    expect(targets()[1]).toBe('/p?a=1')
    expect(targets().slice(2)).toContain('/p?a=1&ref=b')
  })

  it('are not fetched twice from a shop that fails', async () => {
    let failing = false
    const { site, get, targets } = await open(() =>
      failing ? { status: 503 } : { fields: { ...shared, 'No-Vary-Search': 'params' } },
    )
    await get('/p?ref=a')
    failing = true
    expect((await site.visit('/p?ref=b')).status).toBe(503)
    expect(targets()).toEqual(['/p?ref=a', '/p'])
  })

  it('are validated as they were stored', async () => {
    const { site, get } = await open((request) =>
      request.fields.has('if-none-match')
        ? { status: 304, fields: { 'Cache-Control': 'public, max-age=600' } }
        : { fields: { ...shared, ETag: '"a"', 'No-Vary-Search': 'params' } },
    )
    await get('/p?ref=a')
    expect(await get('/p?ref=b')).toBe('page 2')
    site.wait(601)
    expect(await get('/p?ref=c')).toBe('page 2')
    expect(await get('/p?ref=d')).toBe('page 2')
    await site.store.remove({ kind: 'urls', urls: [`${shopUrl}/p?ref=d`] })
    expect(await get('/p?ref=d')).not.toBe('page 2')
  })
})

describe('a page that answers several queries is removed', () => {
  const selections: [string, Selection][] = [
    ['one of them', { kind: 'urls', urls: [`${shopUrl}/p?a=1&ref=never-seen`] }],
    ['its own', { kind: 'urls', urls: [`${shopUrl}/p?a=1`] }],
    ['several', { kind: 'urls', urls: [`${shopUrl}/x?y`, `${shopUrl}/p?ref=b`, `${shopUrl}/z`] }],
    ['a pattern', { kind: 'matching', matches: (url) => url.endsWith('ref=never-seen') }],
  ]
  it.each(selections)('by a purge of %s', async (_, selection) => {
    const { site, get } = await open('params=("ref")')
    await get('/p?a=1&ref=x')
    expect(await get('/p?a=1&ref=y')).toBe('page 2')
    if (selection.kind !== 'matching') expect(await site.store.count(selection)).toBe(1)
    expect(await site.store.remove(selection)).toBe(1)
    for (const long of [true, false]) expect(await get('/p?a=1&ref=y', long)).toBe('page 3')
  })

  it('by a small purge, and softly', async () => {
    const { site, get } = await open('params=("ref")')
    await get('/p?a=1&ref=x')
    await get('/p?a=1&ref=y')
    const selection = { kind: 'urls' as const, urls: [`${shopUrl}/p?b=2`] }
    const removed = [{ urls: [[`${shopUrl}/p?a=1`]], isWhole: true }]
    expect(await site.store.removeTogether([{ selection, soft: true }])).toEqual(removed)
    site.wait(1)
    expect(await get('/p?a=1&ref=y')).toBe('page 3')
    expect(await site.store.removeTogether([{ selection }])).toEqual(removed)
    expect(await get('/p?a=1&ref=y')).toBe('page 4')
  })

  it('by a purge while it is fetched', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let waiting = false
    const site = await openSite()
    onTestFinished(() => site.close())
    let count = 0
    site.answers(async () => {
      count += 1
      const body = `page ${count}`
      if (waiting) await promise
      return { fields: { ...shared, 'No-Vary-Search': 'params=("ref")' }, body }
    })
    await site.visit('/p?a=1&ref=x')
    waiting = true
    const first = site.visit('/p?a=1&ref=y')
    await site.store.remove({ kind: 'urls', urls: [`${shopUrl}/p?ref=z&a=1`] })
    resolve()
    await first
    expect((await site.visit('/p?a=1&ref=y')).text).toBe('page 3')
  })

  it('by a POST of a visitor to one of them, and by no purge of another path', async () => {
    const { site, get } = await open('params=("ref")')
    await get('/p?a=1&ref=x')
    await get('/p?a=1&ref=y')
    await site.store.remove({ kind: 'urls', urls: [`${shopUrl}/q?a=1`, `${shopUrl}/p`, `http://other.${host}/p?a=1`] })
    expect(await get('/p?a=1&ref=y')).toBe('page 2')
    await site.visit('/p?a=1&ref=z', { method: 'POST', body: 'x' })
    expect(await get('/p?a=1&ref=y')).not.toBe('page 2')
  })
})

it('operators see which page answers a URL', async () => {
  const { site, get } = await open('params=("ref")')
  await get('/p?a=1&ref=x')
  await get('/p?a=1&ref=y')
  const { url, cached, explanation } = await inspectUrl(
    site.cache,
    site.store,
    `${shopUrl}/p?a=1&ref=z`,
    site.now(),
    new AbortController().signal,
  )
  expect({ url, cached }).toEqual({ url: `${shopUrl}/p?a=1`, cached: true })
  expect(explanation).toContain('The shop ignores some or all parameters of this path (No-Vary-Search).')
  expect(toPageUrl(`${shopUrl}/p?a=1&ref=z`, site.cache.classifying)).toBe(`${shopUrl}/p?a=1`)
  expect(toPageUrl(`${shopUrl}/q?ref=z`, site.cache.classifying)).toBe(`${shopUrl}/q?ref=z`)
})
