import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { freePort, startDaemon, type Daemon } from '../helpers/daemon.ts'
import { decoded, exchange, isHit, type Answer, untilHit } from '../helpers/exchange.ts'
import { followReadme } from '../helpers/readme.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { login, missingPackages, startWordPress, type WordPress } from '../helpers/wordpress.ts'
import { until } from '../helpers/until.ts'

const missing = missingPackages()
const adminBar = 'id="wpadminbar"'

let shop: WordPress
let daemon: Daemon
/** The paths of all pages in the shop's own sitemap. */
let pages: string[]

beforeAll(async () => {
  if (missing.length > 0) {
    console.warn(`WORDPRESS TEST SKIPPED, Debian packages missing: ${missing.join(', ')}`)
    return
  }
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  shop = await startWordPress(publicUrl)
  daemon = await startDaemon({ port, config: configuration(shop.url, publicUrl) })
  pages = await sitemapPages()
})

afterAll(async () => {
  await daemon?.stop()
  await shop?.stop()
})

describe('a WordPress behind the daemon', () => {
  it('is warmed up from its own sitemap', async (context) => {
    needWordPress(context)
    const warmup = await daemon.run('warmup:start', '--wait', '--json')
    expect(warmup, warmup.stderr + daemon.logs()).toMatchObject({ code: 0 })
    expect(pages.length).toBeGreaterThan(30)
    expect((await statistics()).totalFiles).toBe(pages.length)
  })

  it('serves each warmed page from the cache, byte for byte as WordPress makes it', async (context) => {
    needWordPress(context)
    const made = new Map<string, Buffer>()
    for (const page of pages) made.set(page, await stableBytes(page))
    const asked = shop.requests().length

    for (const page of pages) {
      for (const accept of ['identity', 'gzip', 'gzip, deflate, br, zstd']) {
        const answer = await visit(page, { 'accept-encoding': accept })
        expect({ page, status: answer.status, hit: isHit(answer) }).toEqual({ page, status: 200, hit: true })
        expect(decoded(answer).equals(made.get(page) ?? Buffer.alloc(0)), `${page}, ${accept}`).toBe(true)
      }
    }
    expect(shop.requests().slice(asked)).toEqual([])
  })

  it('keeps the headers that WordPress sends', async (context) => {
    needWordPress(context)
    const fromShop = await askShop('/story-3/')
    const fromCache = await visit('/story-3/')
    for (const name of ['content-type', 'link', 'x-pingback']) {
      expect(fromCache.headers.get(name), name).toBe(fromShop.headers.get(name))
    }
  })

  it('serves a logged-in visitor a private page, and the next anonymous visitor the shared one', async (context) => {
    needWordPress(context)
    const cookie = await logIn()
    for (const page of ['/', '/story-3/', '/about-us/']) {
      const anonymous = decoded(await visit(page))
      for (let round = 0; round < 2; round++) {
        const own = await visit(page, { cookie })
        expect(isHit(own), `${page}: ${own.headers.get('cache-status')}`).toBe(false)
        expect(decoded(own).toString()).toContain(adminBar)
        expect(decoded(own).toString()).toContain(login.displayName)
      }
      const next = await untilHit(() => visit(page))
      expect(decoded(next).equals(anonymous)).toBe(true)
    }
  })

  it('stores nothing of a page that a logged-in visitor saw first', async (context) => {
    needWordPress(context)
    const cookie = await logIn()
    const before = await statistics()
    for (const page of ['/page/2/', '/author/editor/page/2/', '/?s=linen', '/story-5/feed/']) {
      const anonymous = await stableBytes(page)
      const own = await visit(page, { cookie })
      expect({ page, status: own.status, hit: isHit(own) }).toEqual({ page, status: 200, hit: false })
      expect(await statistics(), page).toMatchObject({ totalFiles: before.totalFiles })
      const next = await visit(page)
      expect({ page, hit: isHit(next) }).toEqual({ page, hit: false })
      expect(decoded(next).equals(anonymous), page).toBe(true)
      // Without the login the same page is stored, so it was bypassed because of the visitor.
      await until(async () => expect(isHit(await visit(page))).toBe(true))
      expect(decoded(await visit(page)).equals(anonymous), page).toBe(true)
      before.totalFiles++
      // Another process sees the page once the writer has stored it.
      await until(async () => expect(await statistics()).toMatchObject({ totalFiles: before.totalFiles }))
    }
  })

  it('serves neither the login form nor what WordPress marks no-cache from the cache', async (context) => {
    needWordPress(context)
    for (const page of ['/wp-login.php', '/no-such-page/', '/wp-admin/']) {
      await visit(page)
      expect(isHit(await visit(page)), page).toBe(false)
    }
  })
})

describe('the README', () => {
  it('works word by word with a WordPress', async (context) => {
    needWordPress(context)
    // WordPress redirects to the address that it believes to have, so that the daemon of the README has to listen there.
    await daemon.stop()
    const publicUrl = `http://127.0.0.1:${daemon.port}`
    const place = { origin: shop.url, port: daemon.port, publicUrl, page: '/story-3/', flags: ['--ttl', '10m'] }
    const steps = await followReadme(await tempDir(), place)
    const last = (command: string) => steps.findLast((step) => step.command.startsWith(`pagecache ${command}`))?.stdout
    expect(last('warmup:start')).toMatch(/Failed: +0\n/)
    expect(last('doctor')).toContain(' 0 failed.')
    expect(last('cache:inspect')).toContain('cached: yes')
  })
})

/** A test that cannot run is reported as skipped by name, never as passed. */
function needWordPress(context: TestContext): void {
  if (missing.length > 0) context.skip(`Debian packages missing: ${missing.join(', ')}`)
}

function configuration(origin: string, publicUrl: string): Record<string, unknown> {
  return {
    salesChannels: [
      {
        id: '0190c0de-0000-7000-8000-000000000001',
        name: 'WordPress',
        url: publicUrl,
        origin,
        sitemaps: ['/wp-sitemap.xml'],
      },
    ],
    cache: { defaultTtl: 300, bypass: { cookies: ['wordpress_logged_in_*', 'wp-postpass_*', 'comment_author_*'] } },
  }
}

/** A page view at the daemon. */
async function visit(target: string, headers: Record<string, string> = {}): Promise<Answer> {
  return await exchange(daemon.url + target, { headers })
}

/** The same page view at WordPress itself, under its public name. */
async function askShop(target: string): Promise<Answer> {
  return await exchange(shop.url + target, { headers: { host: daemon.host } })
}

/** How WordPress renders a page. Fails if two renderings differ, because no cached page could equal both. */
async function stableBytes(target: string): Promise<Buffer> {
  const [first, second] = [await askShop(target), await askShop(target)]
  expect(first.status, target).toBe(200)
  expect(second.body.equals(first.body), `WordPress renders ${target} twice the same`).toBe(true)
  return first.body
}

async function sitemapPages(): Promise<string[]> {
  const locations = async (path: string) => {
    const xml = (await askShop(path)).body.toString()
    return [...xml.matchAll(/<loc>([^<]+)<\/loc>/g)].map((match) => (match[1] ?? '').replace(daemon.url, ''))
  }
  const found: string[] = []
  for (const part of await locations('/wp-sitemap.xml')) found.push(...(await locations(part)))
  return found
}

async function statistics(): Promise<{ totalFiles: number }> {
  const { code, stdout, stderr } = await daemon.run('cache:stats', '--json')
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout) as { totalFiles: number }
}

/** Logs in through the daemon as a browser does; resolves to the Cookie header of the visitor. */
async function logIn(): Promise<string> {
  const form = await visit('/wp-login.php')
  const test = cookies(form)
  const fields = new URLSearchParams({
    log: login.user,
    pwd: login.password,
    testcookie: '1',
    redirect_to: `${daemon.url}/`,
  })
  const body = fields.toString()
  const answer = await exchange(`${daemon.url}/wp-login.php`, {
    method: 'POST',
    headers: {
      cookie: test,
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(Buffer.byteLength(body)),
    },
    body,
  })
  expect(answer.status).toBe(302)
  expect(cookies(answer)).toContain('wordpress_logged_in_')
  return `${test}; ${cookies(answer)}`
}

function cookies(answer: Answer): string {
  return answer.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ')
}
