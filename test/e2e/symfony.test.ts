import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freePort, startDaemon, type Daemon } from '../helpers/daemon.ts'
import { decoded, exchange, isHit } from '../helpers/exchange.ts'
import { missingSymfony, startSymfony, type SymfonyShop, type Texts } from '../helpers/symfony.ts'
import { until } from '../helpers/until.ts'

const missing = missingSymfony()
const texts: Texts = { header: 'menu 1', footer: 'footer 1' }
const header = '/_esi/global/header'

let shop: SymfonyShop
let daemon: Daemon
let asked = 0

beforeAll(async () => {
  if (missing.length > 0) {
    console.warn(`SYMFONY TEST SKIPPED, Debian packages missing: ${missing.join(', ')}`)
    return
  }
  shop = await startSymfony(texts)
  const port = await freePort()
  daemon = await startDaemon({
    port,
    config: {
      cache: { esi: 'auto' },
      salesChannels: [
        { id: '0190c0de-0000-7000-8000-000000000001', name: 'Shop', url: `http://127.0.0.1:${port}`, origin: shop.url },
      ],
    },
  })
})

afterAll(async () => {
  await daemon?.stop()
  await shop?.stop()
})

beforeEach(async (context) => {
  if (missing.length > 0) context.skip(`missing: ${missing.join(', ')}`)
  await shop.show(texts)
  const { code, stderr } = await daemon.run('vendor:cache:clear')
  if (code !== 0) throw new Error(stderr)
  asked = shop.requests().length
})

async function visit(path: string, headers: Record<string, string> = {}) {
  const answer = await exchange(`${daemon.url}${path}`, { headers })
  return { ...answer, text: decoded(answer).toString().replace(/\s+/g, ' ').trim() }
}

/** The shop's requests of this test, sorted. */
function requests(): string[] {
  return shop.requests().slice(asked).sort()
}

function page(name: string, { header: menu, footer, review = '' }: Texts = texts): string {
  return `<html><body> <p>${menu}</p> <h1>${name}</h1> <blockquote>${review}</blockquote> <p>${footer}</p> </body></html>`
}

async function purge(tag: string): Promise<void> {
  expect((await exchange(`${daemon.url}/`, { method: 'PURGE', headers: { xkey: tag } })).status).toBe(200)
}

/** Waits until a URL is answered from the cache. */
async function cached(path: string): Promise<void> {
  await until(async () => expect(isHit(await visit(path))).toBe(true))
}

describe("a shop on Symfony's kernel", () => {
  it('has its fragments rendered once for all pages', async () => {
    for (let number = 1; number <= 20; number++) expect((await visit(`/p${number}`)).text).toBe(page(`p${number}`))
    expect(requests().filter((path) => path.startsWith('/_'))).toEqual([header, '/_fragment'])
    await cached('/p1')
    expect((await visit('/p1')).text).toBe(page('p1'))
  })

  it('gets a changed menu into every page with one request', async () => {
    const names = ['a', 'b', 'c']
    for (const name of names) await cached(`/${name}`)
    const etags = await Promise.all(names.map(async (name) => (await visit(`/${name}`)).headers.get('etag')))
    asked = shop.requests().length
    const changed = { ...texts, header: 'menu 2' }
    await shop.show(changed)
    await purge('menu')
    for (const [index, name] of names.entries()) {
      const answer = await visit(`/${name}`, { 'If-None-Match': etags[index]! })
      expect(answer).toMatchObject({ status: 200, text: page(name, changed) })
    }
    expect(requests()).toEqual([header])
    const flow = await daemon.run('reverse-proxy:url-flow', `${daemon.url}/a`, '--json')
    // The page of an earlier test may have been cleared before the writer had stored it: then the log has no clear of it.
    const { items } = JSON.parse(flow.stdout) as { items: object[] }
    expect(items.at(-1)).toMatchObject({ kind: 'tag', tag: 'menu' })
  })

  it('is asked once for a page and for each fragment by 50 visitors', async () => {
    await shop.show({ ...texts, delay: 300 })
    const answers = await Promise.all(Array.from({ length: 50 }, () => visit('/crowd')))
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([page('crowd')]))
    expect(requests()).toEqual([header, '/_fragment', '/crowd'])
  })

  it('keeps a private fragment to its visitor', async () => {
    await shop.show({ ...texts, parts: { account: ['basket'] } })
    for (const name of ['ann', 'bob']) {
      const answer = await visit('/account-page', {})
      expect(answer.text).not.toContain('basket')
      const own = await visit('/account', { Cookie: `name=${name}` })
      // Under a bypassed path, the shop renders all of it.
      expect(own.headers.get('cache-status')).toContain('bypass')
    }
    await shop.show({ ...texts, parts: { mine: ['basket'] } })
    for (const name of ['ann', 'bob', 'ann']) {
      const own = await visit('/mine', { Cookie: `name=${name}` })
      expect(own.text).toContain(`basket of ${name}`)
      expect(own.headers.get('cache-control')).toBe('private, no-store')
    }
    expect(requests().filter((path) => path === '/mine')).toHaveLength(1)
  })

  it('shows its pages without a fragment that fails', async () => {
    await shop.show({ ...texts, parts: { half: ['broken'] } })
    const answer = await visit('/half')
    expect(answer).toMatchObject({ status: 200, text: page('half') })
    expect(answer.headers.get('cache-status')).toContain('/_esi/broken failed: status 500')
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
  })

  it('is not asked for what a review includes', async () => {
    const review = '<esi:include src="/account/order"/><esi:include src="http://evil.example/_esi/x"/>fine'
    await shop.show({ ...texts, review })
    const answer = await visit('/reviewed')
    expect(answer.text).toBe(page('reviewed', { ...texts, review: 'fine' }))
    expect(requests()).toEqual([header, '/_fragment', '/reviewed'])
    await until(() => expect(daemon.logs()).toContain('/account/order removed: not below cache.esiPaths'))
  })

  it('has pages that are compressed, cut and validated whole', async () => {
    await shop.show({ ...texts, header: 'menu '.repeat(300) })
    const whole = await visit('/long')
    for (const coding of ['gzip', 'br', 'zstd']) {
      const answer = await visit('/long', { 'Accept-Encoding': coding })
      expect(answer.headers.get('content-encoding')).toBe(coding)
      expect(answer.text).toBe(whole.text)
    }
    const etag = whole.headers.get('etag')!
    expect(await visit('/long', { 'If-None-Match': etag })).toMatchObject({ status: 304 })
    const part = await visit('/long', { Range: 'bytes=0-5', 'If-Range': etag })
    expect(part).toMatchObject({ status: 206, text: '<html>' })
    const head = await exchange(`${daemon.url}/long`, { method: 'HEAD' })
    expect(head.headers.get('content-length')).toBe(String(whole.body.length))
  })

  it('names the fragments of a page in the debug fields of a purger', async () => {
    const { headers } = await visit('/debugged', { 'X-Pagecache-Debug': '1' })
    const [first, second, ...others] = headers.get('x-pagecache-debug-fragments')!.split(' ')
    expect(first).toBe(`${daemon.url}${header}`)
    expect(second).toContain('/_fragment?_hash=')
    expect(others).toEqual([])
    expect(headers.get('x-pagecache-debug-tags')!.split(' ').sort()).toEqual(['footer', 'menu', 'page-debugged'])
  })

  it('is warmed up with its fragments', async () => {
    const urls = ['a', 'b', 'c'].map((name) => `${daemon.url}/${name}`)
    const warmed = await daemon.run('warmup:start', ...urls, '--wait', '--json')
    expect(warmed, warmed.stderr).toMatchObject({ code: 0 })
    expect(requests()).toEqual([header, '/_fragment', '/a', '/b', '/c'])
    for (const name of ['a', 'b', 'c']) {
      const answer = await visit(`/${name}`)
      expect(answer.text).toBe(page(name))
      expect(isHit(answer)).toBe(true)
    }
    expect(requests()).toHaveLength(5)
    await purge('menu')
    await daemon.run('warmup:start', ...urls, '--wait', '--json')
    expect(requests().filter((path) => path === header)).toHaveLength(2)
    expect(requests()).toHaveLength(6)
  })
})
