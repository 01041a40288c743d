import { describe, expect, it } from 'vitest'
import type { MemoryEntry } from '../../src/pages/memory-entry.ts'
import { MemoryTier } from '../../src/pages/memory-tier.ts'
import { pageTypes, type Page, type PageDraft } from '../../src/pages/page.ts'
import type { Selection } from '../../src/pages/page-store.ts'
import { bodyOf, draft, origin } from './draft.ts'

const megabyte = 2 ** 20
let nextId = 1

function page(name: string, changes: Partial<PageDraft> = {}): Page {
  return { ...draft(name, changes), id: nextId++, size: 1_000, hits: 0, hitMs: 0, usedAt: 0 }
}

it('returns a page with its codings by key', () => {
  const memory = new MemoryTier(megabyte)
  const stored = page('a')
  const entry = memory.set(stored, 'br', bodyOf('br'))
  memory.addBody(entry, 'identity', bodyOf('identity'))
  expect(memory.get(stored.key)).toEqual([entry])
  expect(entry.bodies).toEqual({ br: bodyOf('br'), identity: bodyOf('identity') })
  expect(memory.get('another')).toBeUndefined()
})

it('keeps variants and replaces an equal one', () => {
  const memory = new MemoryTier(megabyte)
  memory.set(page('a', { vary: { lang: 'de' } }), 'gzip', bodyOf('1'))
  memory.set(page('a', { vary: { lang: 'en' } }), 'gzip', bodyOf('2'))
  memory.set(page('a', { vary: { lang: 'de' } }), 'br', bodyOf('3'))
  const bodies = memory.get(draft('a').key)!.map((entry) => entry.bodies)
  expect(bodies).toEqual([{ gzip: bodyOf('2') }, { br: bodyOf('3') }])
  expect(memory.count).toBe(2)
})

it('evicts the least recently used variant of a key beyond the limit', () => {
  const memory = new MemoryTier(megabyte, 3)
  const set = (language: string) =>
    memory.set(page('a', { vary: { lang: language }, tags: ['all', language] }), 'gzip', bodyOf(language))
  const [first] = ['de', 'en', 'fr'].map(set)
  memory.countHit(first!, 1, 1)
  set('it')
  const languages = () => (memory.get(draft('a').key) ?? []).map((entry) => entry.page.vary['lang'])
  expect(languages()).toEqual(['de', 'fr', 'it'])
  memory.drop({ kind: 'tags', tags: ['en'] })
  expect(languages()).toEqual(['de', 'fr', 'it'])
  memory.drop({ kind: 'tags', tags: ['all'] })
  expect(memory.get(draft('a').key)).toBeUndefined()
})

it('a page validated by a 304 keeps the codings of its body', () => {
  const memory = new MemoryTier(megabyte)
  const stored = page('a')
  memory.addBody(memory.set(stored, 'br', bodyOf('1')), 'gzip', bodyOf('2'))
  const renewed = memory.set({ ...stored, cachedAt: stored.cachedAt + 1 }, 'br', bodyOf('1'))
  expect(memory.get(stored.key)).toEqual([renewed])
  expect(renewed.bodies).toEqual({ br: bodyOf('1'), gzip: bodyOf('2') })
})

it('keeps few pages that were requested once, and displaces unused ones by those that are requested again', () => {
  const memory = new MemoryTier(megabyte)
  const pages = Array.from({ length: 30 }, (_, n) => page(`p${n}`))
  const set = (each: Page) => memory.set(each, 'identity', Buffer.alloc(100_000))
  pages.forEach(set)
  expect(memory.count).toBe(2)
  pages.slice(20).forEach(set)
  expect(pages.filter(({ key }) => memory.get(key) !== undefined)).toEqual(pages.slice(20))
  expect(memory.bytes).toBeLessThanOrEqual(megabyte)
})

it('returns an entry for a page that it does not keep, and keeps it the next time', () => {
  const memory = new MemoryTier(megabyte)
  for (let n = 0; n < 5; n++) memory.set(page(`p${n}`), 'br', Buffer.alloc(100_000))
  const entries = [1, 2].map(() => memory.set(page('a'), 'br', bodyOf('1')))
  expect(entries.map(({ bodies }) => bodies)).toEqual([{ br: bodyOf('1') }, { br: bodyOf('1') }])
  expect(memory.get(draft('a').key)).toEqual([entries[1]])
})

it('counts added codings towards the size limit', () => {
  const memory = new MemoryTier(megabyte)
  memory.set(page('a'), 'br', Buffer.alloc(400_000))
  memory.set(page('b'), 'br', Buffer.alloc(400_000))
  const entry = memory.set(page('b'), 'br', Buffer.alloc(400_000))
  memory.addBody(entry, 'identity', Buffer.alloc(400_000))
  expect(memory.get(draft('a').key)).toBeUndefined()
  expect(memory.get(draft('b').key)).toEqual([entry])
})

it('a page that is too large is returned and not kept, nor is the one it replaces', () => {
  const memory = new MemoryTier(10_000)
  memory.set(page('a'), 'br', Buffer.alloc(10))
  const entry = memory.set(page('a'), 'br', Buffer.alloc(20_000))
  expect(entry.bodies.br).toHaveLength(20_000)
  expect([memory.get(draft('a').key), memory.bytes, memory.count]).toEqual([undefined, 0, 0])
  memory.drop({ kind: 'type', type: 'products' })
  expect(new MemoryTier(0).set(page('a'), 'br', Buffer.alloc(1)).bodies.br).toHaveLength(1)
})

it('ignores a coding added after its page was dropped', () => {
  const memory = new MemoryTier(megabyte)
  const entry = memory.set(page('a'), 'br', bodyOf('1'))
  memory.drop({ kind: 'all' })
  memory.addBody(entry, 'gzip', bodyOf('2'))
  expect([memory.count, memory.bytes]).toEqual([0, 0])
})

describe('an invalidation drops the selected pages', () => {
  const cases: [string, Selection, string[]][] = [
    ['all', { kind: 'all' }, []],
    ['a type', { kind: 'type', type: 'cms' }, ['a', 'c']],
    ['tags', { kind: 'tags', tags: ['blue', 'green'] }, ['b', 'd']],
    ['URLs', { kind: 'urls', urls: [`${origin}/a`, `${origin}/x`] }, ['b', 'c', 'd']],
    ['unknown tags', { kind: 'tags', tags: ['x', ''] }, ['a', 'b', 'c', 'd']],
  ]
  it.each(cases)('%s', (_, selection, left) => {
    const memory = new MemoryTier(megabyte)
    memory.set(page('a', { tags: ['red', 'blue'] }), 'br', bodyOf('a'))
    memory.set(page('b', { tags: ['red'], type: 'cms' }), 'br', bodyOf('b'))
    memory.set(page('c', { tags: ['green', 'blue'] }), 'br', bodyOf('c'))
    memory.set(page('d', { tags: [], type: 'cms' }), 'br', bodyOf('d'))
    memory.drop(selection)
    expect(['a', 'b', 'c', 'd'].filter((name) => memory.get(draft(name).key) !== undefined)).toEqual(left)
    for (const type of pageTypes) memory.drop({ kind: 'type', type })
    expect([memory.count, memory.bytes]).toEqual([0, 0])
  })

  it('follows changes of tags', () => {
    const memory = new MemoryTier(megabyte)
    const stored = page('a', { tags: ['old'] })
    memory.set(stored, 'br', bodyOf('a'))
    memory.set({ ...stored, tags: ['new'] }, 'br', bodyOf('a'))
    memory.drop({ kind: 'tags', tags: ['old'] })
    expect(memory.count).toBe(1)
    memory.drop({ kind: 'tags', tags: ['new'] })
    expect(memory.count).toBe(0)
  })
})

it('takeHits returns the hits of a page that left memory and came back as one entry', () => {
  const memory = new MemoryTier(megabyte)
  const [a, b] = [page('a'), page('b')]
  const inZstd: Page = { ...a, encoding: 'zstd' }
  for (const [at, visited] of [a, b, a, inZstd].entries()) {
    const entry = memory.set(visited, visited.encoding, bodyOf('body'))
    entry.takesBrotli = visited === inZstd
    memory.countHit(entry, 0.5, at)
    memory.drop({ kind: 'all' })
  }
  expect(memory.takeHits()).toEqual([
    { page: inZstd, hits: 3, ms: 1.5, usedAt: 3, recode: true },
    { page: { id: b.id }, hits: 1, ms: 0.5, usedAt: 1, recode: false },
  ])
})

it('takeHits counts a page apart from the assembled page that it is the template of', () => {
  const memory = new MemoryTier(megabyte)
  const [template, fragment] = [page('a'), page('b')]
  const assembly = { parts: [template, fragment], count: 1, height: 1, isCut: false, note: null }
  memory.countHit(memory.set(template, 'br', bodyOf('a')), 1, 10)
  memory.countHit(memory.set(template, 'br', bodyOf('a'), assembly), 1, 20)
  expect(memory.takeHits()).toEqual([
    { page: { id: template.id }, hits: 1, ms: 1, usedAt: 10, recode: false },
    { page: { id: template.id }, hits: 1, ms: 1, usedAt: 20, recode: false },
    { page: fragment, hits: 0, ms: 0, usedAt: 20, recode: false },
  ])
})

it('copies a body that stays in memory out of a larger buffer, and no other', () => {
  const slab = Buffer.alloc(10_000, 'a')
  const body = slab.subarray(0, 1_000)
  const kept = new MemoryTier(megabyte).set(page('a'), 'br', body)
  expect(kept.bodies.br).toEqual(body)
  expect(kept.bodies.br!.buffer.byteLength).toBe(body.length)
  const passing = new MemoryTier(0).set(page('b'), 'br', body)
  expect(passing.bodies.br).toBe(body)
})

it('takeHits returns the hits once, including those of dropped pages', () => {
  const memory = new MemoryTier(megabyte)
  const waiting = { ...page('a'), id: -1 }
  const a = memory.set(waiting, 'br', bodyOf('a'))
  const [b, c] = (['zstd', 'br'] as const).map((encoding) => {
    const entry = memory.set({ ...page(encoding), encoding }, encoding, bodyOf('b'))
    entry.takesBrotli = true
    return entry
  }) as [MemoryEntry, MemoryEntry]
  memory.countHit(a, 0.5, 10)
  memory.countHit(a, 0.25, 20)
  memory.countHit(b, 1, 15)
  memory.countHit(c, 1, 16)
  memory.drop({ kind: 'all' })
  expect(memory.takeHits()).toEqual([
    { page: waiting, hits: 2, ms: 0.75, usedAt: 20, recode: false },
    { page: b.page, hits: 1, ms: 1, usedAt: 15, recode: true },
    { page: { id: c.page.id }, hits: 1, ms: 1, usedAt: 16, recode: false },
  ])
  expect(memory.takeHits()).toEqual([])
  memory.countHit(a, 1, 30)
  expect(memory.takeHits()).toEqual([{ page: waiting, hits: 1, ms: 1, usedAt: 30, recode: false }])
})
