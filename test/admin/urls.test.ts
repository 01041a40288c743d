import { expect, it } from 'vitest'
import { toUrls } from '../../src/admin/urls.ts'

const channel = (url: string) => ({ id: url, name: url, url })
const english = channel('https://shop.example')
const german = channel('https://shop.example/de')
const other = channel('http://other.example:8080/')

it.each([
  ['https://shop.example/a', [english], ['https://shop.example/a']],
  ['/a?p=2', [english], ['https://shop.example/a?p=2']],
  ['/', [english], ['https://shop.example/']],
  ['/a', [english, other], ['https://shop.example/a', 'http://other.example:8080/a']],
  // Relative to the channel, unless it begins with the path of the channel already.
  ['/a', [german], ['https://shop.example/de/a']],
  ['/de/a', [german], ['https://shop.example/de/a']],
  ['/de', [german], ['https://shop.example/de']],
  ['/de?p=2', [german], ['https://shop.example/de?p=2']],
  ['/dessert', [german], ['https://shop.example/de/dessert']],
  ['/de/a', [english, german], ['https://shop.example/de/a']],
  // Before the channels are known, and what the daemon rejects by itself.
  ['/a', [], ['/a']],
  ['a', [english], ['a']],
])('%s is %j', (text, channels, urls) => {
  expect(toUrls(text, channels)).toEqual(urls)
})
