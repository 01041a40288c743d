import { describe, expect, it } from 'vitest'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { isHit } from './site.ts'
import { browser, html, open, shared } from './negotiating-shop.ts'

describe('a shop that negotiates by Accept', () => {
  /** A shop that negotiates without sending Vary. Only its HTML may be shared. */
  const negotiates = (request: OriginRequest): Reply => {
    const type = (request.fields.get('accept') ?? '').split(',')[0]!.split(';')[0]!.trim()
    if (type.endsWith('html') && !type.includes('turbo')) return { fields: html, body: 'page' }
    return /^(?:\*\/\*|)$/.test(type)
      ? { fields: html, body: 'page' }
      : { fields: { ...shared, 'Content-Type': type }, body: 'data' }
  }

  it.each([
    'application/json, text/html;q=0.1',
    'application/problem+json',
    'application/problem+json, text/html;q=0.5, */*',
    'text/vnd.turbo-stream.html, text/html',
    'application/json',
    'application/json, text/plain, */*',
    'application/ld+json',
    'application/hal+json, */*',
    'text/xml',
    'application/xml, */*',
    'application/rss+xml',
    'text/plain',
    'text/plain, */*',
    'text/csv',
    'text/x-component',
    'application/vnd.api+json',
    'image/avif',
    'application/pdf',
    'text/markdown, text/html',
    'text/event-stream;q=1',
  ])('%s', async (accept) => {
    const { visit } = await open(negotiates)
    await visit({ fields: { Accept: accept } })
    expect((await visit()).text).toBe('page')
    expect((await visit({ fields: browser })).text).toBe('page')
    expect(isHit(await visit())).toBe(true)
  })

  it('is cached when Vary names Accept', async () => {
    const { visit } = await open((request) => ({
      ...negotiates(request),
      fields: { ...negotiates(request).fields, Vary: 'Accept' },
    }))
    await visit({ fields: { Accept: 'application/json' } })
    expect(isHit(await visit({ fields: { Accept: 'application/json' } }))).toBe(true)
    expect((await visit()).text).toBe('page')
  })

  it('is cached for the Accept values of browsers for images and scripts', async () => {
    const { site } = await open(() => ({ fields: { ...shared, 'Content-Type': 'image/webp' }, body: 'image' }))
    const accepts = [
      'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
      'image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
      'image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5',
      '*/*',
    ]
    for (const [index, accept] of accepts.entries()) {
      await site.visit(`/${index}`, { fields: { Accept: accept } })
      expect(isHit(await site.visit(`/${index}`)), accept).toBe(true)
    }
  })
})

describe('a fragment requested by a script', () => {
  const fragment = (request: OriginRequest): Reply => ({
    fields: html,
    body: request.fields.has('x-requested-with') ? 'fragment' : 'page',
  })

  it('is stored separately from the page, on both paths', async () => {
    const { site } = await open(fragment)
    for (const long of [true, false]) {
      const script = () => site.visit('/p', { long, fields: { 'X-Requested-With': 'XMLHttpRequest' } })
      expect((await script()).text).toBe('fragment')
      expect((await site.visit('/p', { long })).text).toBe('page')
      expect(isHit(await script())).toBe(true)
      expect((await script()).text).toBe('fragment')
    }
  })

  it.each(['xmlhttprequest', 'XMLHttpRequest, x', 'com.example.app', 'fetch'])(
    'is not stored for X-Requested-With: %s',
    async (value) => {
      const { visit } = await open(fragment)
      await visit({ fields: { 'X-Requested-With': value } })
      expect((await visit()).text).toBe('page')
    },
  )

  it.each([
    ['Turbo-Frame', 'main'],
    ['HX-Request', 'true'],
    ['Up-Target', 'main'],
    ['Prefer', 'return=minimal'],
    ['A-IM', 'feed'],
    ['Api-Version', '2'],
    ['RSC', '1'],
  ])('is not stored for %s', async (name, value) => {
    const { visit } = await open((request) => ({
      fields: html,
      body: request.fields.has(name.toLowerCase()) ? 'fragment' : 'page',
    }))
    await visit({ fields: { [name]: value } })
    expect((await visit()).text).toBe('page')
  })
})

describe('another Origin', () => {
  const font = (allow: string | null) => ({
    fields: {
      ...shared,
      'Content-Type': 'font/woff2',
      ...(allow === null ? {} : { 'Access-Control-Allow-Origin': allow }),
    },
    body: 'font',
  })

  it.each<[string, string | null, string, boolean]>([
    ['a response for all origins', '*', 'https://other.example', true],
    ["the shop's own origin", null, 'http://shop.example', true],
    ['a response without Access-Control-Allow-Origin', null, 'https://other.example', false],
    ['a response for this origin', 'https://other.example', 'https://other.example', false],
    ['no origin at all', null, 'null', false],
  ])('%s', async (_, allow, origin, stored) => {
    const { visit } = await open(() => font(allow))
    await visit({ fields: { Origin: origin } })
    expect(isHit(await visit())).toBe(stored)
  })

  it('is cached when Vary names it', async () => {
    const { visit } = await open(({ fields }) => ({
      fields: { ...shared, Vary: 'Origin', 'Access-Control-Allow-Origin': fields.get('origin') ?? '*' },
      body: 'font',
    }))
    await visit({ fields: { Origin: 'https://other.example' } })
    expect(isHit(await visit({ fields: { Origin: 'https://other.example' } }))).toBe(true)
    expect(isHit(await visit({ fields: { Origin: 'https://third.example' } }))).toBe(false)
  })
})
