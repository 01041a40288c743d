import { describe, expect, it } from 'vitest'
import { toPageAddress } from '../../src/operations/page-address.ts'

const channel = (id: string, url: string) => ({ id, name: `Shop ${id}`, url })
const one = [channel('a', 'http://shop.example')]
const below = [channel('a', 'https://shop.example/de')]
const languages = [...one, channel('b', 'http://shop.example/de')]
const hosts = [...one, channel('b', 'http://other.example')]

describe('a path alone', () => {
  it.each([
    [one, '/a?b=1', 'http://shop.example/a?b=1'],
    [below, '/de/a', 'https://shop.example/de/a'],
    [below, '/de', 'https://shop.example/de'],
    [below, '/design', 'https://shop.example/de/design'],
    [below, '/a', 'https://shop.example/de/a'],
    [languages, '/de/a', 'http://shop.example/de/a'],
    [languages, '/a', 'http://shop.example/a'],
  ])('of %j: %s is %s', (channels, path, url) => {
    expect(toPageAddress(path, channels)).toBe(url)
  })

  it('that two hosts have is refused with both URLs, unless the sales channel is named', () => {
    expect(() => toPageAddress('/a', hosts, { field: 'urls[0]' })).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        message: 'urls[0]: several sales channels may have the path /a',
        hint: 'Name the page: http://shop.example/a, http://other.example/a.',
      }),
    )
    expect(toPageAddress('/a', hosts, { channelId: 'b' })).toBe('http://other.example/a')
    expect(() => toPageAddress('/a', hosts, { channelId: 'c' })).toThrow(
      expect.objectContaining({ code: 'NOT_FOUND', hint: 'Configured: a (Shop a), b (Shop b).' }),
    )
  })

  it.each(['//other.example/a', '/\\other.example', '/a\u0000b', 'a', ''])('is not %j', (given) => {
    expect(() => toPageAddress(given, one)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
  })

  it('needs a sales channel', () => {
    expect(() => toPageAddress('/a', [])).toThrow('/a is a path, but no sales channel is configured')
  })
})

it('a URL is returned as it is, whatever the sales channels', () => {
  expect(toPageAddress('http://none.example/a', hosts)).toBe('http://none.example/a')
})
