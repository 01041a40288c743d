import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { OriginError } from '../../../src/cache/origin.ts'
import { until } from '../../helpers/until.ts'
import type { Reply } from '../scripted-origin.ts'
import { include, lasting, lookupOf, openEsiShop, template, type EsiShop } from './shop.ts'

let shop: EsiShop

beforeEach(async () => {
  shop = await openEsiShop()
  onTestFinished(() => shop.close())
  shop.page('/_esi/good', lasting('good'))
})

const warm = (target: string) => shop.cache.warm(lookupOf(shop, target), new AbortController().signal)

const failures: [string, Reply][] = [
  ['cannot be reached', { breaks: 'before' }],
  ['breaks off', { ...lasting('half'), breaks: 'within' }],
  ['answers 500', { status: 500 }],
  ['is missing', { status: 404 }],
]

describe('a page is warmed although a fragment that', () => {
  it.each(failures)('%s is optional', async (_, reply) => {
    shop.page('/_esi/bad', reply)
    shop.page('/', template(`${include('/_esi/bad', 'onerror="continue"')}${include('/_esi/good')}`))
    expect(await warm('/')).toMatchObject({ kind: 'held', notStored: null })
    // The fragments after it are warmed too.
    expect(shop.asked('/_esi/good')).toBe(1)
    expect((await shop.visit('/')).text).toBe('good')
    expect([shop.asked('/'), shop.asked('/_esi/good')]).toEqual([1, 1])
  })

  it.each(failures)('%s has an alternative', async (_, reply) => {
    shop.page('/_esi/bad', reply)
    shop.page('/_esi/outer', template(include('/_esi/bad', 'alt="/_esi/good"')))
    shop.page('/', template(`a${include('/_esi/outer')}`))
    expect(await warm('/')).toMatchObject({ kind: 'held', notStored: null })
    expect((await shop.visit('/')).text).toBe('agood')
    expect(shop.asked('/_esi/good')).toBe(1)
  })
})

describe('the warmup of a page fails like a visit of it where a fragment that it needs', () => {
  it.each(failures)('%s', async (_, reply) => {
    shop.page('/_esi/bad', reply)
    shop.page('/', template(`${include('/_esi/bad')}${include('/_esi/good')}`))
    await expect(warm('/')).rejects.toBeInstanceOf(OriginError)
    expect((await shop.visit('/')).status).toBe(502)
    // The page itself and the others are cached.
    expect([shop.asked('/'), shop.asked('/_esi/good')]).toEqual([1, 1])
  })
})

it('the warmup of a page that a visitor fetches fails too where the page needs a fragment that fails', async () => {
  const { promise, resolve } = Promise.withResolvers<Reply>()
  shop.page('/_esi/bad', { status: 500 })
  shop.page('/', () => promise)
  const visit = shop.visit('/')
  await until(() => expect(shop.asked('/')).toBe(1))
  const warming = warm('/')
  resolve(template(`${include('/_esi/bad')}${include('/_esi/good')}`))
  await expect(warming).rejects.toBeInstanceOf(OriginError)
  expect((await visit).status).toBe(502)
  expect([shop.asked('/'), shop.asked('/_esi/good')]).toEqual([1, 1])
})

it('a warmup that is aborted while it fetches a fragment requests nothing else', async () => {
  const abort = new AbortController()
  shop.page('/_esi/slow', () => {
    abort.abort()
    return new Promise<Reply>(() => {})
  })
  shop.page('/', template(`${include('/_esi/slow', 'onerror="continue"')}${include('/_esi/good')}`))
  await expect(shop.cache.warm(lookupOf(shop, '/'), abort.signal)).rejects.toBeInstanceOf(OriginError)
  expect(shop.origin.requests.map(({ target }) => target)).toEqual(['/', '/_esi/slow'])
})

it('a warmup fetches the fragments of a fragment that its page needs, and those after it', async () => {
  shop.page('/_esi/bad', { status: 500 })
  shop.page('/_esi/outer', template(include('/_esi/bad')))
  shop.page('/', template(`${include('/_esi/outer')}${include('/_esi/good')}`))
  await expect(warm('/')).rejects.toBeInstanceOf(OriginError)
  expect(shop.asked('/_esi/good')).toBe(1)
  shop.page('/optional', template(`${include('/_esi/outer', 'onerror="continue"')}a`))
  expect(await warm('/optional')).toMatchObject({ kind: 'held', notStored: null })
  expect((await shop.visit('/optional')).text).toBe('a')
})

it('a warmup that is aborted while it makes a page ends, as one that is aborted while it fetches', async () => {
  const busy = await openEsiShop({ limits: { maxConcurrent: 1, queue: 5, queueTimeout: 60_000 } })
  onTestFinished(() => busy.close())
  const counts = () => busy.cache.origin.counts
  const releases: (() => void)[] = []
  const held = (reply: Reply) => () => new Promise<Reply>((resolve) => releases.push(() => resolve(reply)))
  busy.page('/', template(include('/_esi/failing')))
  busy.page('/_esi/failing', held({ status: 500 }))
  busy.page('/account', held(lasting('an account')))
  const aborting = new AbortController()
  const lookup = lookupOf(busy, '/')
  const visit = { ...lookup.visit, signal: aborting.signal }
  const warming = busy.cache.warm({ ...lookup, visit }, aborting.signal)
  await until(() => expect(busy.asked('/_esi/failing')).toBe(1))
  const visitor = busy.visit('/account')
  await until(() => expect(counts().waiting).toBe(1))
  releases.shift()!()
  // The fragment is fetched once more, as for a visitor.
  await until(() => expect([busy.asked('/account'), counts().waiting]).toEqual([1, 1]))
  aborting.abort(new Error('paused'))
  await expect(warming).rejects.toMatchObject({ name: 'OriginError', message: 'paused' })
  expect(counts().waiting).toBe(0)
  releases.shift()!()
  await visitor
})
