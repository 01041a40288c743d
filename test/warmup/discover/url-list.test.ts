import { expect, it } from 'vitest'
import { UrlHashes } from '../../../src/warmup/discover/url-hashes.ts'
import { UrlList } from '../../../src/warmup/discover/url-list.ts'

it('sorts URLs by priority, depth and insertion order, without duplicates', () => {
  const list = new UrlList()
  const urls = Array.from(
    { length: 5000 },
    (_, number) => `http://shop.example/${number % 2 === 0 ? 'a' : 'a/b'}/${number}?ü=ß`,
  )
  for (const [number, url] of urls.entries()) expect(list.add(url, number % 5 === 0 ? 0.8 : 0.5, number % 2)).toBe(true)
  for (const url of urls) expect(list.add(url, 1, 0)).toBe(false)
  expect(list.add('http://shop.example/purged', -0.01, 0)).toBe(true)
  expect(list.size).toBe(5001)
  const key = (number: number) => (number % 5 === 0 ? 0 : 2) + (number % 2)
  const expected = urls
    .map((url, number) => ({ url, number }))
    .toSorted((a, b) => key(a.number) - key(b.number) || a.number - b.number)
  expect([...list.seal()]).toEqual([...expected.map(({ url }) => url), 'http://shop.example/purged'])
})

it('distinguishes a hundred thousand strings', () => {
  const hashes = new UrlHashes()
  let added = 0
  for (let round = 0; round < 2; round++)
    for (let number = 0; number < 100_000; number++) if (hashes.add(`http://shop.example/article-${number}`)) added++
  expect(added).toBe(100_000)
})
