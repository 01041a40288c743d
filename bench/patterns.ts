/**
 * Claim: 8 KiB of hostile text take under 5 ms, whichever pattern or parser processes them. Prints the fastest of several runs in
 * microseconds, at 8 KiB and at 32 KiB: more than four times the time means that it is not linear.
 *
 *   npx node bench/patterns.ts [--json]
 */
import { Memo } from '../src/lib/memo.ts'
import { parseArgs } from 'node:util'
import { examine } from '../src/http/front/guard.ts'
import { readBan } from '../src/http/purge/ban-request.ts'
import { splitTags } from '../src/http/purge/order.ts'
import { parsePlainRequest } from '../src/http/front/plain-request.ts'
import { globMatcher } from '../src/lib/glob.ts'
import { maskUrls, printable } from '../src/lib/safe-text.ts'
import { trimEndingSlashes } from '../src/lib/url.ts'
import { defaultTypeRules, typeResolver } from '../src/pages/type.ts'
import { bestEncodings } from '../src/cache/accept-encoding.ts'
import { cookieBypass, pathBypass, pathsBelow } from '../src/cache/bypass.ts'
import { directivesOf, requestDirectives } from '../src/cache/cache-control.ts'
import { toChannel } from '../src/cache/channel.ts'
import { Channels } from '../src/cache/channels.ts'
import { isCommonBrowserValue } from '../src/cache/browser-values.ts'
import { matchesEntityTag } from '../src/cache/conditional.ts'
import { parseCookies } from '../src/cache/fields.ts'
import { tagsOf } from '../src/cache/forward.ts'
import { unkeyedCookies } from '../src/cache/key.ts'
import { parseNoVarySearch, reduced } from '../src/cache/no-vary-search.ts'
import { reasonNotToStore } from '../src/cache/may-store.ts'
import { parseRange } from '../src/cache/range.ts'
import { reflectedField } from '../src/cache/reflection.ts'
import { marketingParameters } from '../src/cache/ignored-parameters.ts'
import { canonicaliser, lenientPath } from '../src/cache/target.ts'
import { varyNames } from '../src/cache/vary.ts'
import { entityOf } from '../src/purge/entities.ts'
import { toMatcher } from '../src/purge/pattern.ts'
import { classifyPageUrl } from '../src/warmup/discover/page-url.ts'
import { parseRobots } from '../src/warmup/discover/robots.ts'

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } })

const channel = toChannel({ id: 'c', name: 'Shop', url: 'http://shop.example', origin: 'http://127.0.0.1:8000' })
const canonical = canonicaliser(marketingParameters)
const bypass = pathBypass(['/checkout', '/account'])
const assets = pathsBelow(['/media'])
const search = parseNoVarySearch('params=("b")')!
const rules = { channels: new Channels([channel]), canonicalise: canonical, isBypassed: bypass, locLength: 1e9 }
const typeOf = typeResolver([
  { type: 'cms', path: '/*/*/*/*/*.html' },
  { type: 'cms', header: 'x-page: *a*a*a*b' },
  ...defaultTypeRules,
])
const robots = parseRobots(`User-agent: *\n${'Disallow: /*/*/*/*.gif$\n'.repeat(100)}Disallow: /*${'/'.repeat(2000)}x`)
const asked = {
  site: 'http://shop.example',
  keyedFields: [],
  classified: [],
  unkeyedCookies: null,
  states: [],
  odd: false,
}

/** Repeats a text up to a size in characters. */
function of(piece: string, size: number, end = ''): string {
  return piece.repeat(Math.ceil(size / piece.length)) + end
}

function reflection(value: string): string | null {
  return reflectedField(
    { ...asked, target: canonical('/'), channel, remembered: new Memo() },
    { sent: [['x-a', value]], addresses: [] },
    [],
    Buffer.alloc(100_000, 'piece- '),
  )
}

const cases: [name: string, run: (size: number) => unknown][] = [
  ['cache.types path, slashes', (size) => typeOf({ headers: [], tags: [], target: `/?${of('/', size)}` })],
  ['cache.types header', (size) => typeOf({ headers: [['x-page', of('a', size)]], tags: [], target: '/' })],
  ['glob, 1,000 characters', (size) => globMatcher(`*${'a'.repeat(1000)}b*`)(of('a', size))],
  ['glob, compiling stars', (size) => globMatcher('*a'.repeat(size / 2))],
  ['robots.txt, 101 rules', (size) => robots.allows(of('/', size))],
  ['robots.txt, parsing', (size) => parseRobots(of('User-agent: *   \t#', size))],
  ['BAN (a+)+$', (size) => toMatcher('(a+)+$')(`http://h/${of('a', size, '!')}`)],
  ['BAN, stars that share no letter', (size) => toMatcher('(x*y?x*)+[yz]$')(`http://h/${of('x', size)}`)],
  ['BAN, many stars', (size) => toMatcher(`${'.*a'.repeat(20)}b`)(`http://h/${of('a', size)}`)],
  ['BAN, repetitions', (size) => toMatcher('(x?){500}x{500}[yz]$')(`http://h/${of('x', size)}`)],
  ['canonical target, parameters', (size) => canonical(`/?${of('zu=1&a&', size)}`)],
  ['canonical target, escapes', (size) => canonical(`/${of('%2e%2e/%', size)}`)],
  ['canonical target, plain', (size) => canonical(`${of('/a.', size)}\n`)],
  ['lenient path', (size) => lenientPath(`/${of('%25;//..\\', size)}`)],
  ['bypass.paths', (size) => bypass(of('/checkou', size))],
  ['cache.assets', (size) => assets(`/media/${of('%25;//..\\', size)}`)],
  ['No-Vary-Search', (size) => parseNoVarySearch(`params=(${of('"a\\" ', size)}`)],
  [
    'parameters without those of No-Vary-Search',
    (size) => reduced({ path: '/', query: `?${of('%zz+=a&', size)}` }, search),
  ],
  [
    'cookies, many',
    (size) =>
      unkeyedCookies(parseCookies(Array.from({ length: size / 8 }, (_, n) => `c${n}=1`).join(';')), new Set(['a'])),
  ],
  ['cookies, spaces', (size) => parseCookies(`a=b${of(' ', size)}c`)],
  [
    'bypass.cookies',
    (size) =>
      cookieBypass(parseCookies(Array.from({ length: size / 8 }, (_, n) => `c${n}=1`).join(';')), {
        cookies: ['wp_*', 'x'],
      }),
  ],
  ['Cache-Control of a request', (size) => requestDirectives([['cache-control', of('a="\\",', size)]])],
  ['Cache-Control of a response', (size) => directivesOf([['cache-control', of('no-cache="a, b", ,', size)]])],
  ['CDN-Cache-Control', (size) => directivesOf([['cdn-cache-control', `a="${of('\\"', size)}`]])],
  ['Vary', (size) => varyNames([['vary', Array.from({ length: size / 8 }, (_, n) => `x-${n}`).join(', ')]])],
  ['Accept-Encoding', (size) => bestEncodings(of(',;q=', size, String(Math.random())))],
  ['If-None-Match', (size) => matchesEntityTag(of('W/"a", "', size), '"x"')],
  ['Range', (size) => parseRange(`bytes=${of('1 ', size)}`, 5)],
  ['Accept', (size) => isCommonBrowserValue('accept', of('text/html;q=0.1, ', size, 'x'))],
  [
    'Accept-Language of an error',
    (size) =>
      reasonNotToStore(
        { ...asked, remembered: new Memo(), headers: [['accept-language', of('de-a;q=1,', size, '!')]] },
        404,
        [['cache-control', 'public']],
        0,
      ),
  ],
  [
    'Content-Type',
    (size) =>
      reasonNotToStore(
        { ...asked, remembered: new Memo(), headers: [] },
        200,
        [
          ['content-type', `text/${of('+', size)}`],
          ['cache-control', 'public'],
        ],
        0,
      ),
  ],
  [
    'reflection in 100 kB',
    (size) => reflection(Array.from({ length: size / 10 }, (_, n) => `piece-${1000 + n}`).join(' ')),
  ],
  ['reflection of quotes', (size) => reflection(of('"', size))],
  ['tags of a response', (size) => tagsOf([['xkey', of(' ,', size)]])],
  ['tags of a PURGE', (size) => splitTags([of('\t ,', size)])],
  ['entity of a tag', (size) => entityOf(`product-${of('1', size, '!')}`)],
  [
    'absolute-form target',
    (size) =>
      examine(
        { method: 'GET', target: `http://${of('a', size)}\u2028`, version: '1.1', headers: [['host', 'shop.example']] },
        false,
      ),
  ],
  [
    'plain GET from the socket',
    (size) =>
      parsePlainRequest(Buffer.from(`GET /${'a'.repeat(100)} HTTP/1.1\r\n${of('a: b\r\n', size)}x`), false, 200),
  ],
  ['BAN from the socket', (size) => readBan(Buffer.from(`BAN / HTTP/1.1\r\n${of('a: b\r\n', size)}x`))],
  ['page of a sitemap', (size) => classifyPageUrl(`http://shop.example/${of('add-to-', size)}`, channel, rules)],
  ['credentials masked, scheme', (size) => maskUrls(of('a', size))],
  ['credentials masked, parameters', (size) => maskUrls(of('?', size))],
  ['text for a terminal', (size) => printable(of('\u001b', size))],
  ['slashes at the end of a URL', (size) => trimEndingSlashes(of('/', size, 'a'))],
]

/** The fastest of several runs, in microseconds. */
function fastest(run: () => unknown): number {
  let best = Infinity
  for (let turn = 0; turn < 25; turn++) {
    const start = performance.now()
    run()
    best = Math.min(best, performance.now() - start)
  }
  return Math.round(best * 1000)
}

const results = cases.map(([name, run]) => ({
  name,
  us8k: fastest(() => run(8192)),
  us32k: fastest(() => run(32_768)),
}))
if (values.json) console.log(JSON.stringify(results))
else
  for (const { name, us8k, us32k } of results)
    console.log(`${name.padEnd(34)}${String(us8k).padStart(9)} µs${String(us32k).padStart(10)} µs`)
