import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { addressOf, bearerOf, carriesSecret, isFromForeignPage } from '../../../src/http/api/caller.ts'

const request = (headers: Record<string, string>, remoteAddress?: string) =>
  ({ headers, socket: { remoteAddress } }) as unknown as IncomingMessage

it.each([
  ['10.0.0.1', '203.0.113.7', '203.0.113.7'],
  ['10.0.0.1', '198.51.100.9, 203.0.113.7, 10.0.0.2', '203.0.113.7'],
  ['10.0.0.1', 'spoofed, 203.0.113.7', '203.0.113.7'],
  ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['10.0.0.1', 'nonsense', '10.0.0.1'],
  ['192.0.2.1', '203.0.113.7', '192.0.2.1'],
  [undefined, '203.0.113.7', '203.0.113.7'],
])('from %s for %s is %s', (peer, forwarded, address) => {
  const isTrusted = (candidate: string | undefined) => candidate === undefined || candidate.startsWith('10.')
  expect(addressOf(request({ 'x-forwarded-for': forwarded }, peer), isTrusted)).toBe(address)
})

it.each([
  [{}, false],
  [{ origin: 'http://cache.example' }, false],
  [{ origin: 'http://cache.example:8080' }, true],
  [{ origin: 'http://evil.example' }, true],
  [{ origin: 'null' }, true],
  [{ origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' }, true],
  [{ origin: 'http://www.cache.example', 'sec-fetch-site': 'same-site' }, true],
  // Behind a proxy that writes another Host: the browser knows better.
  [{ origin: 'https://outside.example', 'sec-fetch-site': 'same-origin' }, false],
  [{ 'sec-fetch-site': 'none' }, false],
])('%j comes from a foreign page: %s', (headers, foreign) => {
  expect(isFromForeignPage(request(headers as Record<string, string>), ['cache.example'])).toBe(foreign)
})

it.each([
  [undefined, null],
  ['Bearer abc', 'abc'],
  ['bearer   abc ', 'abc'],
  ['Bearer', undefined],
  ['Bearer a b', undefined],
  ['Bearer a,b', undefined],
  ['Basic abc', undefined],
])('Authorization %j is the token %j', (authorization, token) => {
  expect(bearerOf(request(authorization === undefined ? {} : { authorization }))).toBe(token)
})

it.each([
  ['a=1', false],
  ['access_token=x', true],
  ['ACCESS_TOKEN=x', true],
  ['token=', true],
  ['client_secret=x', true],
  ['tokens=x', false],
  ['access%5Ftoken=x', true],
])('%s carries a secret: %s', (query, secret) => {
  expect(carriesSecret(new URLSearchParams(query))).toBe(secret)
})
