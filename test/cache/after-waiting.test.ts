import { describe, expect, it } from 'vitest'
import { until } from '../helpers/until.ts'
import { crowd, openSlow, page } from './slow-site.ts'

describe('when the visitor who leads a fetch', () => {
  it.each([
    ['has a cookie outside the key', { Cookie: 'cart=0a1b2c3d' }],
    ['sends a field that no browser sends', { 'X-Foo': '1' }],
    ['does not want the response to be stored', { 'Cache-Control': 'no-store' }],
    ['accepts only a script for a language', { 'Accept-Language': '<script>' }],
  ])('%s, one of the others fetches the page for all', async (_, fields) => {
    const { site, arrived, release } = await openSlow()
    const leader = site.visit('/a', { fields })
    await arrived(1)
    const visits = crowd(30, () => site.visit('/a'))
    const unshared = { ...page, fields: { 'Cache-Control': 'max-age=60' } }
    release({ ...unshared, body: 'for one' })
    await arrived(2)
    release(unshared)
    expect((await leader).text).toBe('for one')
    expect((await Promise.all(visits)).map((answer) => answer.text)).toEqual(Array(30).fill('the page'))
    expect(site.origin.requests).toHaveLength(2)
  })

  it('has a cookie outside the key, others with such cookies fetch for themselves at once', async () => {
    const { site, arrived, release } = await openSlow()
    const visits = crowd(20, (index) =>
      site.visit('/a', { fields: index % 2 ? {} : { Cookie: `cart=0a1b2c3d${index}` } }),
    )
    await arrived(1)
    release({ fields: { 'Cache-Control': 'max-age=60' } })
    // Nine with cookies, and one for the ten without.
    await arrived(11)
    release((index) => ({ fields: { 'Cache-Control': 'max-age=60' }, body: String(index) }))
    const bodies = (await Promise.all(visits)).map((answer) => answer.text)
    expect(new Set(bodies.filter((_, index) => index % 2)).size).toBe(1)
    expect(new Set(bodies.filter((_, index) => index % 2 === 0)).size).toBe(10)
    expect(site.origin.requests).toHaveLength(11)
  })

  it.each([{ 'Cache-Control': 'private' }, { 'Cache-Control': 'no-store' }])(
    'has a cookie outside the key and gets a response with %o, the others do not wait again',
    async (fields) => {
      const { site, waiting, arrived, release } = await openSlow()
      const leader = site.visit('/a', { fields: { Cookie: 'cart=0a1b2c3d' } })
      await arrived(1)
      const visits = crowd(10, () => site.visit('/a'))
      release({ fields })
      await until(() => expect(waiting).toHaveLength(10))
      release((index) => ({ fields, body: `yours ${index}` }))
      expect(new Set((await Promise.all(visits)).map((answer) => answer.text)).size).toBe(10)
      await leader
    },
  )

  it('gets another variant, one visitor of each variant fetches it for the others', async () => {
    const { site, arrived, release } = await openSlow()
    const languages = ['en', 'de', 'fr', 'nl']
    const visits = crowd(40, (index) => site.visit('/a', { fields: { 'Accept-Language': languages[index % 4]! } }))
    await arrived(1)
    const varied = { ...page, fields: { ...page.fields, Vary: 'Accept-Language' } }
    release({ ...varied, body: 'en' })
    await arrived(4)
    release((index) => ({ ...varied, body: languages[index + 1]! }))
    const answers = await Promise.all(visits)
    expect(answers.map((answer) => answer.text)).toEqual(Array.from({ length: 40 }, (_, index) => languages[index % 4]))
    expect(site.origin.requests).toHaveLength(4)
  })

  it('asks only for the head of a page that has changed, one of the others fetches it for all', async () => {
    const { site, arrived, release } = await openSlow()
    const version = (tag: string) => ({ fields: { 'Cache-Control': 'max-age=10', ETag: `"${tag}"` }, body: tag })
    const first = site.visit('/a')
    await arrived(1)
    release(version('old'))
    await first
    site.wait(20)
    const head = site.visit('/a', { method: 'HEAD' })
    await arrived(2)
    const visits = crowd(30, () => site.visit('/a'))
    const heads = crowd(2, () => site.visit('/a', { method: 'HEAD' }))
    release(version('new'))
    await arrived(5)
    release(version('new'))
    expect((await head).status).toBe(200)
    expect((await Promise.all(visits)).map((answer) => answer.text)).toEqual(Array(30).fill('new'))
    expect((await Promise.all(heads)).map((answer) => answer.status)).toEqual([200, 200])
    expect(site.origin.requests.map(({ method }) => method).toSorted()).toEqual(['GET', 'GET', 'HEAD', 'HEAD', 'HEAD'])
  })
})
