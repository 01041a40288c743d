import { isIP } from 'node:net'
import { describe, expect, it } from 'vitest'
import { closest } from '../../src/lib/closest.ts'
import { ipFamily } from '../../src/lib/ip-family.ts'
import { maskForLog, maskUrls, namesSecret, printable } from '../../src/lib/safe-text.ts'

describe('closest', () => {
  it.each([
    ['prot', ['host', 'port'], 'port'],
    ['cache:stat', ['cache:clear', 'cache:stats'], 'cache:stats'],
    ['TYPE', ['type'], 'type'],
    ['xyz', ['type', 'limit'], null],
    ['foo', ['top'], null],
    ['hist', ['priority', 'hits'], 'hits'],
    ['anything', [], null],
  ])('%s among %j is %s', (word, candidates, guess) => {
    expect(closest(word, candidates)).toBe(guess)
  })
})

describe('an IP address', () => {
  it.each([
    '127.0.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '256.0.0.1',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '0x7f.0.0.1',
    '2130706433',
    '1.2.3.4 ',
    '::',
    '::1',
    'fe80::1',
    '1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7',
    '1::2::3',
    '::ffff:127.0.0.1',
    '::ffff:256.0.0.1',
    '12345::',
    'g::',
    '[::1]',
    '',
    'localhost',
    ':',
    '1:2:3:4:5:6:7:8:9',
  ])('%j has the family that node:net reports', (text) => {
    expect(ipFamily(text)).toBe(isIP(text))
  })
})

describe('mask', () => {
  it.each([
    ['http://user:pw@host/path', 'http://***@host/path'],
    ['redis://:pw@host', 'redis://***@host'],
    ['http://a@b@host', 'http://***@host'],
    ['from http://u:p@a to https://u:p@b', 'from http://***@a to https://***@b'],
    ['http://host/?token=abc&page=2', 'http://host/?token=***&page=2'],
    ['http://host/mail@example', 'http://host/mail@example'],
    ['nothing secret', 'nothing secret'],
  ])('%s', (text, masked) => {
    expect(maskUrls(text)).toBe(masked)
  })

  it.each([
    [
      'The body of http://u:p@host/search?q=jane@example.org was altered',
      'The body of http://***@host/search?*** was altered',
    ],
    [
      'revalidation of https://host/a#mail failed: https://host/b?c=d',
      'revalidation of https://host/a?*** failed: https://host/b?***',
    ],
    ['GET /api failed', 'GET /api failed'],
    ['Is the shop up? http://host/path', 'Is the shop up? http://host/path'],
  ])('maskForLog removes queries: %s', (text, masked) => {
    expect(maskForLog(text)).toBe(masked)
  })

  it('knows the names of secrets', () => {
    expect(['Authorization', 'sessionId', 'X-Api-Key', 'client_secret', 'password'].every(namesSecret)).toBe(true)
    expect(['currency', 'accept-language'].some(namesSecret)).toBe(false)
  })
})

it('printable escapes control characters and keeps everything else', () => {
  expect(printable('a\u001b[31m\u0000\u007f\u009b\u202e\ufeff')).toBe(
    'a\\u{1b}[31m\\u{0}\\u{7f}\\u{9b}\\u{202e}\\u{feff}',
  )
  expect(printable('Grüße, 世界 👍🏽 /path?a=b')).toBe('Grüße, 世界 👍🏽 /path?a=b')
})
