import { execFileSync } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exchange, untilHit } from '../helpers/exchange.ts'
import { installed } from '../helpers/rivals.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'
import { speak } from '../http/front/wire.ts'
import { startStorefront, type Storefront } from './storefront.ts'

const docs = readFileSync(new URL('../../docs/stages.md', import.meta.url), 'utf8')

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function sign(secret: string, claims: Record<string, unknown> = {}): string {
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: 'customer-7', aud: 'pagecache', exp: Math.floor(Date.now() / 1000) + 600, ...claims })}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

/** A storefront whose shop signs tokens with this secret. */
async function open(
  where: object = { cookie: 'shop-customer' },
  stages: object = {},
  more: Record<string, unknown> = {},
): Promise<
  Storefront & {
    secret: string
    customers(): Promise<(string | null)[]>
    close(headers: Record<string, string>, body?: object): Promise<number>
  }
> {
  const secret = randomBytes(32).toString('hex')
  const secretFile = join(await tempDir(), 'customer.secret')
  await writeFile(secretFile, `${secret}\n`, { mode: 0o640 })
  const shop = await startStorefront(
    { customerToken: { ...where, secretFile, audience: 'pagecache' }, ...stages },
    more,
  )
  const stage = await shop.stage()
  // Ids of the same millisecond are unordered.
  let sent = 100
  return {
    ...shop,
    secret,
    customers: async () =>
      (await shop.events())
        .toSorted((a, b) => a.page_type!.localeCompare(b.page_type!))
        .map((event) => event.customer_id),
    close: async (headers, body = {}) =>
      (await shop.track({ popupId: stage.id, eventType: 'close', pageType: String((sent += 1)), ...body }, headers))
        .status,
  }
}

describe('the customer of an event comes from', () => {
  it('the token in the configured cookie, on first and repeated use', async () => {
    const shop = await open()
    const cookie = `a=b; shop-customer=${sign(shop.secret)}; vendor-stage-session=x`
    for (const _ of [1, 2]) expect(await shop.close({ cookie })).toBe(200)
    expect(await shop.close({ cookie: 'a=b' })).toBe(200)
    expect(await shop.close({ cookie: `other-shop-customer=${sign(shop.secret)}` })).toBe(200)
    expect(await shop.customers()).toEqual(['customer-7', 'customer-7', null, null])
  })

  it.each(['in one piece', 'with its body behind'])(
    'the token in the second of two Cookie lines, in a request %s',
    async (how) => {
      const shop = await open()
      const { id } = await shop.stage()
      const body = JSON.stringify({ popupId: id, eventType: 'close', pageType: 'a' })
      const head = `POST /vendor-stage/track HTTP/1.1\r\nHost: ${new URL(shop.url).host}\r\nContent-Length: ${body.length}\r\nCookie: a=b\r\nCookie: shop-customer=${sign(shop.secret)}\r\n\r\n`
      const { answers } = await speak(
        Number(new URL(shop.url).port),
        how === 'in one piece' ? head + body : [head, body],
        { answers: 1 },
      )
      expect(answers[0]!.status).toBe(200)
      expect(await shop.customers()).toEqual(['customer-7'])
    },
  )

  it('the token in the configured header, with or without Bearer', async () => {
    const shop = await open({ header: 'Authorization' })
    for (const authorization of [`Bearer ${sign(shop.secret)}`, sign(shop.secret), 'Basic abc'])
      await shop.close({ authorization })
    expect(await shop.customers()).toEqual(['customer-7', 'customer-7', null])
  })

  it('is stored in canonical form', async () => {
    const shop = await open()
    await shop.close({ cookie: `shop-customer=${sign(shop.secret, { sub: '0190C0DE000070008000000000000007' })}` })
    await shop.close({ cookie: `shop-customer=${sign(shop.secret, { sub: 'a b' })}` })
    expect(await shop.customers()).toEqual(['0190c0de-0000-7000-8000-000000000007', null])
  })

  it('the header of a trusted proxy rather than the token, even if empty', async () => {
    const shop = await open(
      { cookie: 'shop-customer' },
      { customerHeader: 'X-Customer' },
      { trustedProxies: ['127.0.0.1'] },
    )
    const cookie = `shop-customer=${sign(shop.secret)}`
    for (const headers of [{ cookie, 'x-customer': 'customer-8' }, { cookie, 'x-customer': '' }, { cookie }] as Record<
      string,
      string
    >[])
      await shop.close(headers)
    expect(await shop.customers()).toEqual(['customer-8', null, 'customer-7'])
  })

  it('the token if the header comes from an untrusted address', async () => {
    const shop = await open(
      { cookie: 'shop-customer' },
      { customerHeader: 'X-Customer' },
      { trustedProxies: ['192.0.2.1'] },
    )
    await shop.close({ cookie: `shop-customer=${sign(shop.secret)}`, 'x-customer': 'mallory' })
    expect(await shop.customers()).toEqual(['customer-7'])
  })

  it('never the body, the query or any place that is not configured', async () => {
    const shop = await open()
    const token = sign(shop.secret)
    await shop.close(
      { authorization: `Bearer ${token}`, 'x-shop-customer': token },
      { token, customerToken: token, cookie: `shop-customer=${token}`, sub: 'customer-7' },
    )
    expect(await shop.customers()).toEqual([null])
  })
})

describe('an invalid token', () => {
  it('records the event without a customer and without an error', async () => {
    const shop = await open()
    const now = Math.floor(Date.now() / 1000)
    const bad = [
      sign('another secret of thirty-two bytes or more'),
      sign(shop.secret, { exp: now - 60 }),
      sign(shop.secret, { nbf: now + 60 }),
      sign(shop.secret, { aud: 'api' }),
      sign(shop.secret, { padding: 'x'.repeat(9000) }),
      `${part({ alg: 'none' })}.${part({ sub: 'customer-7', aud: 'pagecache', exp: now + 600 })}.`,
      'nonsense',
      '%00%ff',
      '',
    ]
    for (const token of bad) expect(await shop.close({ cookie: `shop-customer=${token}` })).toBe(200)
    expect(await shop.customers()).toEqual(bad.map(() => null))
    expect(shop.log).toEqual([])
  })
})

describe('a token', () => {
  it('is in no cache key and no state file, and neither is its verification key', async () => {
    const shop = await open()
    const token = sign(shop.secret)
    shop.origin.otherwise({
      status: 200,
      headers: { 'content-type': 'text/html', 'cache-control': 'public, s-maxage=600' },
      body: 'a page',
    })
    await exchange(`${shop.url}/shoes`)
    await untilHit(() => exchange(`${shop.url}/shoes`, { headers: { cookie: `shop-customer=${token}` } }))
    await shop.close({ cookie: `shop-customer=${token}` })
    expect(await shop.customers()).toEqual(['customer-7'])
    expect(shop.origin.hits('/vendor-stage/track')).toBe(0)
    const files = await until(async () => {
      const entries = await readdir(join(shop.projectDir, 'var'), { recursive: true, withFileTypes: true })
      const found = entries.filter((entry) => entry.isFile())
      // Bodies that are just being written get another name.
      return found.every(({ parentPath }) => !parentPath.endsWith('/tmp')) && found
    })
    expect(files.length).toBeGreaterThan(2)
    for (const file of files) {
      const content = await readFile(join(file.parentPath, file.name))
      for (const canary of [token, token.split('.')[2]!, shop.secret])
        expect(content.includes(canary), file.name).toBe(false)
    }
    expect(shop.log.join()).not.toContain(shop.secret)
  })
})

/** The code block of the documentation in a language that contains a text. */
function example(language: string, holds: string): string {
  return [...docs.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))]
    .map((match) => match[1]!)
    .find((text) => text.includes(holds))!
}

describe('tokens created as documented', () => {
  it.skipIf(!installed('openssl'))(
    `with openssl${installed('openssl') ? '' : ' (no openssl on this machine)'}`,
    async () => {
      const shop = await open()
      const cwd = await tempDir()
      await writeFile(join(cwd, 'customer.secret'), `${shop.secret}\n`)
      const token = execFileSync('sh', ['-euc', example('sh', 'signature=')], { cwd, encoding: 'utf8' }).trim()
      await shop.close({ cookie: `shop-customer=${token}` })
      expect(await shop.customers()).toEqual(['10042'])
    },
  )

  it.skipIf(!installed('php'))(`with PHP${installed('php') ? '' : ' (no php on this machine)'}`, async () => {
    const shop = await open()
    const code = example('php', 'function customerToken').split('// After')[0]!
    const token = execFileSync(
      'php',
      [
        '-r',
        `${code} echo customerToken($argv[1], $argv[2], time());`,
        '0190c0de000070008000000000000007',
        shop.secret,
      ],
      { encoding: 'utf8' },
    )
    await shop.close({ cookie: `shop-customer=${token}` })
    expect(await shop.customers()).toEqual(['0190c0de-0000-7000-8000-000000000007'])
  })
})
