import { afterAll, beforeAll, expect, it } from 'vitest'
import { exchange, isHit } from '../helpers/exchange.ts'
import { random } from '../helpers/random.ts'
import { openShop, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'
import { pieces, sentence } from './requests.ts'
import { bodies, fields, hosts, methods, targets } from './vocabulary.ts'
import { agree, send, unanswered, type Outcome, type Way } from './ways.ts'

/** One seed always gives the same cases. CONTRIBUTING.md shows how to run more of them. */
const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const cases = Number(process.env['FUZZ_CASES'] ?? 1000)
const lanes = 6

const shops: Shop[] = []

const unlimited = { perAddress: null, perStage: null, total: null }

beforeAll(async () => {
  for (let lane = 0; lane < lanes; lane++) {
    const shop = await openShop({
      config: { stages: { rateLimit: unlimited }, cache: { bypass: { cookies: ['login'], paths: ['/pass'] } } },
    })
    shops.push(shop)
    const held = {
      'content-type': 'text/html',
      'cache-control': 'public, max-age=86400',
      etag: '"tag"',
      'last-modified': 'Thu, 15 Jan 2026 11:00:00 GMT',
    }
    shop.origin.otherwise(async ({ method, path }, _, incoming) => {
      for await (const _chunk of incoming) void _chunk
      // A successful unsafe method would invalidate the page.
      if (method !== 'GET' && method !== 'HEAD')
        return { status: 409, headers: { 'cache-control': 'no-store' }, body: `${method} is refused` }
      if (!path.startsWith('/hit/'))
        return {
          status: path.startsWith('/pass') ? 200 : 404,
          headers: { 'content-type': 'text/plain', 'cache-control': 'no-store' },
          body: `answer to ${path}`,
        }
      return { headers: held, body: path === '/hit/large' ? 'a large page '.repeat(8000) : `page ${path}` }
    })
    for (const path of ['/hit/a', '/hit/b?x=1&y=2', '/hit/large']) {
      await exchange(shop.daemon.url + path)
      await until(async () => isHit(await exchange(shop.daemon.url + path)))
    }
  }
})
afterAll(async () => {
  for (const shop of shops) await shop.close()
})

/** The first way of sending a text that has another outcome than sending it whole on a new connection; null if there is none. */
async function difference(
  shop: Shop,
  ways: readonly Way[],
  quiet: number,
): Promise<{ way: string; whole: Outcome; other: Outcome } | null> {
  let whole: Outcome | null = null
  for (const way of ways) {
    const other = await send(shop.port, shop.origin, shop.host, way, quiet)
    whole ??= other
    if (!agree(whole, other) || unanswered(other)) return { way: way.name, whole, other }
  }
  return null
}

/** Shortens long runs of one character. */
function abridged(_: string, value: unknown): unknown {
  return typeof value === 'string'
    ? value.replace(/(.)\1{40,}/g, (run, letter: string) => `${letter}{${run.length}}`)
    : value
}

/** Stands for the Host of a shop: one character, which no sentence contains. */
const hostMark = '\u2302'

/** The sentences of the seed, each with two ways to cut it. */
function generate() {
  const next = random(seed)
  return Array.from({ length: cases }, (_, index) => {
    const text = sentence(next).replaceAll(/\bHOST\b/g, hostMark)
    return { index, text, cuts: [pieces(next, text), pieces(next, text)] as const }
  })
}

it.runIf(cases >= 1000)('the sentences contain the whole vocabulary', () => {
  const text = generate()
    .map((each) => each.text.replaceAll(hostMark, 'HOST'))
    .join('')
  const missing = [...bodies, ...fields, ...hosts, ...methods, ...targets].filter((entry) => !text.includes(entry))
  expect(missing).toEqual([])
})

it(
  `${cases} sentences of seed ${seed} mean the same however they arrive`,
  { timeout: 300_000 + cases * 100 },
  async () => {
    const all = generate()
    const found: unknown[] = []
    await Promise.all(
      shops.map(async (shop, lane) => {
        const real = (piece: string) => piece.replaceAll(hostMark, shop.host)
        for (const { index, text, cuts } of all.filter(({ index }) => index % lanes === lane)) {
          const ways: Way[] = [
            { name: 'whole', late: false, pieces: [real(text)] },
            { name: 'cut', late: false, pieces: cuts[0].map(real) },
            { name: 'whole, behind another request', late: true, pieces: [real(text)] },
            { name: 'cut, behind another request', late: true, pieces: cuts[1].map(real) },
          ]
          // A difference that does not recur is due to timing: which of two pieces was read first, or a busy machine.
          let differs = await difference(shop, ways, 120)
          for (let quiet = 500; quiet <= 2000 && differs !== null; quiet *= 2)
            differs = await difference(shop, ways, quiet)
          if (differs !== null)
            found.push({
              index,
              text: real(text),
              pieces: ways.find(({ name }) => name === differs.way)!.pieces,
              ...differs,
            })
          if (found.length >= 5) return
        }
      }),
    )
    expect(found.map((each) => JSON.stringify(each, abridged, 1))).toEqual([])
  },
)
