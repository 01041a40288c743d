import { describe, expect, it } from 'vitest'
import { splitTags, toPurgeOrder, type PurgeRequest } from '../../../src/http/purge/order.ts'
import { toChannel } from '../../../src/cache/channel.ts'
import { Channels } from '../../../src/cache/channels.ts'
import { canonicaliser } from '../../../src/cache/target.ts'

describe('the order of a purge request', () => {
  const channels = new Channels(
    [
      { id: '1', name: 'a', url: 'https://shop.example', origin: 'http://127.0.0.1:1' },
      { id: '2', name: 'b', url: 'http://shop.example/de', origin: 'http://127.0.0.1:1' },
      { id: '3', name: 'c', url: 'http://other.example', origin: 'http://127.0.0.1:1' },
    ].map(toChannel),
  )
  const site = { channels, canonical: canonicaliser(['utm_*']) }
  const ask = (request: Partial<PurgeRequest>, softly = false) =>
    toPurgeOrder({ method: 'PURGE', target: '/', host: 'varnish', headers: [], ...request }, site, softly)

  it('purges the tags and not the path', () => {
    expect(
      ask({
        headers: [
          ['xkey', 'a b,c'],
          ['XKey', ' , d  a '],
        ],
      }),
    ).toEqual({ kind: 'tags', tags: ['a', 'b', 'c', 'd'], soft: false })
    expect(ask({ headers: [['xkey', '']] })).toEqual({ kind: 'tags', tags: [], soft: false })
  })
  it('marks pages as stale', () => {
    expect(ask({ headers: [['xkey-softpurge', 'a b']] })).toEqual({ kind: 'tags', tags: ['a', 'b'], soft: true })
    expect(
      ask({
        headers: [
          ['xkey', 'a'],
          ['xkey-softpurge', '1'],
        ],
      }),
    ).toEqual({ kind: 'tags', tags: ['a'], soft: true })
    expect(ask({ headers: [['xkey', 'a']] }, true)).toEqual({ kind: 'tags', tags: ['a'], soft: true })
  })
  it('removes the pages although purge.softPurge is on, or another field asks for a soft purge', () => {
    const fields: [string, string][] = [
      ['xkey', 'a'],
      ['xkey-hardpurge', '1'],
    ]
    const hard = { kind: 'tags', tags: ['a'], soft: false, hard: true }
    expect(ask({ headers: fields }, true)).toEqual(hard)
    expect(ask({ headers: [...fields, ['xkey-softpurge', '1']] })).toEqual(hard)
  })
  it('purges a path on the channel of its Host with either scheme', () => {
    expect(ask({ target: '/p?b=1&utm_source=x&a=2', host: 'shop.example' })).toEqual({
      kind: 'urls',
      urls: ['https://shop.example/p?a=2&b=1'],
    })
    expect(ask({ target: '/de/p', host: 'shop.example' })).toEqual({
      kind: 'urls',
      urls: ['http://shop.example/de/p', 'https://shop.example/de/p'],
    })
  })
  it('purges a path on every channel when Host names none', () => {
    expect(ask({ target: '/p' })).toEqual({ kind: 'urls', urls: ['https://shop.example/p', 'http://other.example/p'] })
    expect(ask({ target: '/de/p' })).toEqual({
      kind: 'urls',
      urls: ['https://shop.example/de/p', 'http://shop.example/de/p', 'http://other.example/de/p'],
    })
  })
  it('purges by regular expression, or everything', () => {
    expect(ask({ method: 'BAN', target: '/detail/.*' })).toEqual({ kind: 'pattern', pattern: '/detail/.*' })
    expect(ask({ method: 'BAN' })).toEqual({ kind: 'all' })
  })
  it('understands FOSHttpCache', () => {
    const any = [
      ['X-Host', '.*'],
      ['X-Url', '.*'],
      ['X-Content-Type', '.*'],
    ] as const
    const ban = (name: string, value: string) =>
      ask({
        method: 'BAN',
        headers: [...any.filter(([own]) => own !== name), [name, value] as const].map(([own, text]) => [own, text]),
      })
    expect(ban('X-Cache-Tags', '(^|,)(product\\-1|a\\.b)(,|$)')).toEqual({
      kind: 'tags',
      tags: ['product-1', 'a.b'],
      soft: false,
      hard: true,
    })
    expect(ban('X-Url', '^/blog/')).toEqual({ kind: 'pattern', pattern: '^/blog/' })
    expect(ban('X-Cache-Tags', 'tag.*')).toEqual({ kind: 'all' })
    expect(ask({ method: 'PURGEKEYS', headers: [['xkey-softpurge', 'a b']] })).toEqual({
      kind: 'tags',
      tags: ['a', 'b'],
      soft: true,
    })
  })
  it('removes duplicates from a hundred thousand tags', () => {
    const tags = Array.from({ length: 100_000 }, (_, number) => `t${number}`)
    expect(splitTags([tags.join(' '), tags.join(',')])).toEqual(tags)
  })
})
