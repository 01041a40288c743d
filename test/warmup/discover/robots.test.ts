import { describe, expect, it } from 'vitest'
import { parseRobots } from '../../../src/warmup/discover/robots.ts'

describe('group selection', () => {
  it('uses the groups of pagecache in any case, else those of *', () => {
    const text =
      'User-agent: *\nDisallow: /all\n\nUser-agent: other\nUser-agent: PageCache/1.0\nDisallow: /ours # said so\nCrawl-delay: 1\n'
    expect(parseRobots(text)).toMatchObject({ crawlDelay: 1000 })
    expect(parseRobots(text).allows('/all')).toBe(true)
    expect(parseRobots(text).allows('/ours/x')).toBe(false)
    expect(parseRobots('User-agent: other\nDisallow: /').allows('/')).toBe(true)
  })

  it('merges groups with the same user agent', () => {
    const { allows } = parseRobots(
      'User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /x\nUser-agent: *\nDisallow: /b',
    )
    expect(['/a', '/b', '/x'].map(allows)).toEqual([false, false, true])
  })

  it('ignores rules before any user agent and invalid lines', () => {
    expect(parseRobots('Disallow: /\n<html>\nUser-agent: *\nDisallow:\nCrawl-delay: soon').allows('/x')).toBe(true)
    expect(parseRobots('User-agent: *\nCrawl-delay: soon').crawlDelay).toBeNull()
  })
})

// The examples of RFC 9309 §2.2.2 and §2.2.3, and of §5.
describe('rule selection', () => {
  it.each([
    {
      rules: ['Allow: /example/page/', 'Disallow: /example/page/disallowed.gif'],
      target: '/example/page/disallowed.gif',
      allowed: false,
    },
    {
      rules: ['Allow: /example/page/', 'Disallow: /example/page/disallowed.gif'],
      target: '/example/page/',
      allowed: true,
    },
    { rules: ['Disallow: *.gif$', 'Allow: /publications/'], target: '/publications/a.gif', allowed: true },
    { rules: ['Disallow: *.gif$'], target: '/a.gif', allowed: false },
    { rules: ['Disallow: *.gif$'], target: '/a.gif?x', allowed: true },
    { rules: ['Disallow: /*/page/*.gif$'], target: '/a/b/page/c/d.gif', allowed: false },
    { rules: ['Disallow: /a$'], target: '/a', allowed: false },
    { rules: ['Disallow: /a$'], target: '/ab', allowed: true },
    { rules: ['Disallow: /same', 'Allow: /same'], target: '/same', allowed: true },
    { rules: ['Disallow: /p*', 'Allow: /p'], target: '/p', allowed: false },
    { rules: ['Disallow: /?sort='], target: '/?sort=price', allowed: false },
    { rules: ['Disallow: /foo/bar/ツ'], target: '/foo/bar/%E3%83%84', allowed: false },
    { rules: ['Disallow: /foo/bar/%62%61%7A'], target: '/foo/bar/baz', allowed: false },
    { rules: ['Disallow: /a%2fb'], target: '/a/b', allowed: true },
    { rules: ['Disallow: /'], target: '/robots.txt', allowed: true },
    { rules: ['Disallow: /Case'], target: '/case', allowed: true },
  ])('$rules for $target: $allowed', ({ rules, target, allowed }) => {
    expect(parseRobots(['User-agent: *', ...rules].join('\n')).allows(target)).toBe(allowed)
  })

  it('matches a pattern with many stars in linear time', () => {
    const { allows } = parseRobots(`User-agent: *\nDisallow: /${'a*'.repeat(500)}b$`)
    expect(allows(`/${'a'.repeat(2000)}`)).toBe(true)
  })

  it('rejects more wildcard rules than the limit instead of truncating them', () => {
    const text = `User-agent: *\n${Array.from({ length: 1001 }, (_, i) => `Disallow: /${i}*`).join('\n')}`
    expect(() => parseRobots(text)).toThrow('more than 1000 rules')
    expect(() => parseRobots(`User-agent: *\nDisallow: /*${'a'.repeat(40_000)}`)).toThrow('more than 32768 characters')
  })
})

it('finds sitemaps anywhere in the file', () => {
  expect(parseRobots('\ufeffSitemap: http://a/1.xml\r\nUser-agent: *\rSITEMAP : http://a/2.xml#x \n').sitemaps).toEqual(
    ['http://a/1.xml', 'http://a/2.xml#x'],
  )
})
