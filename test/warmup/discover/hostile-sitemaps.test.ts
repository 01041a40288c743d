import { randomBytes } from 'node:crypto'
import { createGzip, gzipSync } from 'node:zlib'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { openSitemapFetch } from '../../../src/warmup/discover/discover-fetch.ts'
import { defaultLimits } from '../../../src/warmup/discover/limits.ts'
import { discover, index, origin, sockets, urlset, useSitemaps } from './sitemaps.ts'

useSitemaps()

describe('foreign addresses', () => {
  const foreign = [
    'http://evil.example/',
    'https://shop.example/',
    'http://shop.example:8080/',
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://0177.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::ffff:169.254.169.254]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://localhost/',
    'file:///etc/passwd',
    'ftp://shop.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    '//evil.example/x',
    '\\\\evil.example/x',
    'http:\\\\evil.example/',
    'http:/\\evil.example/',
    'http://shop.example@evil.example/',
    'http://user:secret@shop.example/',
    'http://shop.example%2eevil.example/',
    'http://shop.example.evil.example/',
    'http://evilshop.example/',
    'http://ѕhop.example/',
    'http://shop.example。evil.example/',
    'http://shоp.example/',
    'http://①②⑦.⓪.⓪.①/',
    'gopher://shop.example/',
    'blob:http://shop.example/1',
  ]

  it('a foreign page opens no socket, in any spelling', async () => {
    origin.on('/sitemap.xml', { body: urlset(...foreign.map((loc) => loc.replaceAll('&', '&amp;'))) })
    const found = await discover()
    expect(found).toMatchObject({ total: 0, foreign: foreign.length, malformed: 0, excluded: 0 })
    expect(new Set(sockets)).toEqual(new Set([`127.0.0.1:${origin.port}`]))
    expect(origin.requests.map((request) => request.path)).toEqual(['/robots.txt', '/sitemap.xml'])
  })

  it('a foreign sitemap opens no socket', async () => {
    origin.on('/sitemap.xml', { body: index(...foreign) })
    const found = await discover()
    expect(found).toMatchObject({ total: 0, foreign: foreign.length })
    expect(new Set(sockets)).toEqual(new Set([`127.0.0.1:${origin.port}`]))
    expect(origin.requests.map((request) => request.path)).toEqual(['/robots.txt', '/sitemap.xml'])
  })

  it('a page of a sibling channel or outside the channel path is foreign', async () => {
    origin.on('/shop/sitemap.xml', {
      body: urlset(
        'http://shop.example/shop/a',
        'http://shop.example/shop/de/a',
        'http://shop.example/shopping',
        'http://shop.example/',
        'http://shop.example/shop/../x',
        'http://shop.example/shop/%2e%2e/x',
      ),
    })
    const found = await discover({ url: 'http://shop.example/shop', siblings: ['http://shop.example/shop/de'] })
    expect(found.list).toEqual(['http://shop.example/shop/a'])
    expect(found.foreign).toBe(5)
  })

  it('redirects stay on the public origin', async () => {
    const places = [
      'http://169.254.169.254/',
      '//evil.example/',
      'http://shop.example@evil.example/',
      'file:///etc/passwd',
      'https://shop.example/sitemap.xml',
    ]
    origin.on('/sitemap.xml', {
      body: index(...places.map((_, number) => `http://shop.example/${number}.xml`), 'http://shop.example/moved.xml'),
    })
    for (const [number, location] of places.entries())
      origin.on(`/${number}.xml`, { status: 302, headers: { location } })
    origin.on('/moved.xml', { status: 301, headers: { location: '/here.xml' } })
    origin.on('/here.xml', { body: urlset('http://shop.example/a') })
    const found = await discover()
    expect(found.list).toEqual(['http://shop.example/a'])
    expect(found.errors.map((error) => error.message)).toEqual(
      places.map(() => 'redirects to another origin, which is not followed'),
    )
    expect(new Set(sockets)).toEqual(new Set([`127.0.0.1:${origin.port}`]))
  })

  it('redirect loops and endless redirects are recorded as errors', async () => {
    origin.on('/sitemap.xml', { body: index('http://shop.example/circle.xml', 'http://shop.example/endless/0') })
    origin.on('/circle.xml', { status: 302, headers: { location: '/circle.xml' } })
    origin.otherwise((request) => {
      const match = /^\/endless\/(\d+)$/.exec(request.path)
      return match ? { status: 307, headers: { location: `/endless/${Number(match[1]) + 1}` } } : { status: 404 }
    })
    expect((await discover()).errors.map((error) => error.message)).toEqual([
      'redirects in a loop',
      'redirects more than 5 times',
    ])
  })
})

describe('rejected URLs', () => {
  it('control characters, ANSI escapes and overlong URLs', async () => {
    origin.on('/sitemap.xml', {
      body: urlset(
        'http://shop.example/a\u0085b',
        'http://shop.example/\u009b31m',
        'http://shop.example/a&#10;b',
        'http://shop.example/a&#9;b',
        `http://shop.example/${'x'.repeat(10_000)}`,
        'http://[',
      ),
    })
    expect(await discover()).toMatchObject({ total: 0, malformed: 6, errors: [] })
  })

  it('an escape character makes the file invalid XML', async () => {
    origin.on('/sitemap.xml', { body: urlset('http://shop.example/\u001b[31m') })
    expect((await discover()).errors[0]!.message).toContain('not well-formed XML')
  })

  it('side effects and bypassed paths', async () => {
    const acting = [
      '/account/logout',
      '/logout',
      '/index.php/logout.php',
      '/wp-login.php?action=logout',
      '/my-account/customer-logout/',
      '/?add-to-cart=12',
      '/?action=logout',
      '/checkout/line-item/add',
      '/log%6Fut',
      '/a/../checkout/cart',
      '/%63heckout/confirm',
      '/CHECKOUT',
      '/index.php?cl=start&amp;fnc=tobasket',
      '/admin/x',
      '/api/x',
      '/x?remove_item=1',
      '/add-to-wishlist',
      '/newsletter/unsubscribe',
    ]
    origin.on('/sitemap.xml', {
      body: urlset(
        ...acting.map((path) => `http://shop.example${path}`),
        'http://shop.example/logout-sofa',
        'http://shop.example/sign-outdoor',
        'http://shop.example/cartography',
        'http://shop.example/x?action=show',
      ),
    })
    const found = await discover()
    expect(found.list).toEqual(
      ['/logout-sofa', '/sign-outdoor', '/cartography', '/x?action=show'].map((path) => `http://shop.example${path}`),
    )
    expect(found.excluded).toBe(acting.length)
  })
})

describe('hostile files', () => {
  it('a gzip bomb of a gigabyte of zeros is stopped', async () => {
    let sent = 0
    origin.on('/sitemap.xml', (_, response) => {
      const zeros = Buffer.alloc(1024 * 1024)
      const bomb = Readable.from(
        (function* () {
          for (let i = 0; i < 1024; i++) yield zeros
        })(),
      ).pipe(createGzip())
      bomb.on('data', (chunk: Buffer) => (sent += chunk.length)).pipe(response)
      response.on('close', () => bomb.destroy())
    })
    const found = await discover()
    expect(found.errors).toHaveLength(1)
    expect(sent).toBeLessThan(1024 * 1024)
  })

  it.each([
    ['of blanks', ' '],
    ['of URLs', '<url><loc>http://shop.example/a</loc></url>'],
  ])('a bomb %s is stopped, also if compressed twice', async (_, filling) => {
    const bomb = gzipSync(`<urlset>${filling.repeat(Math.ceil((20 * 1024 * 1024) / filling.length))}</urlset>`)
    origin.on('/sitemap.xml', { body: index('http://shop.example/1.xml', 'http://shop.example/2.xml') })
    origin.on('/1.xml', { body: bomb })
    origin.on('/2.xml', { body: gzipSync(bomb) })
    const { errors } = await discover()
    expect(errors).toHaveLength(2)
    for (const { message } of errors)
      expect(message).toMatch(/decompresses to more than 200 times|65536 characters without a tag/)
  })

  it('a plain file past the size limit is stopped; URLs found before are kept', async () => {
    origin.on('/sitemap.xml', { body: urlset(...Array.from({ length: 1000 }, (_, i) => `http://shop.example/${i}`)) })
    const found = await discover({ limits: { ...defaultLimits, fileBytes: 10_000 } })
    expect(found.errors[0]!.message).toBe('is larger than 10000 bytes')
  })

  it.each([
    ['a DOCTYPE', `<!DOCTYPE urlset [<!ENTITY a "b">]>${urlset('http://shop.example/&a;')}`, 'DOCTYPE'],
    [
      'an external entity',
      `<!DOCTYPE u SYSTEM "http://evil.example/x.dtd">${urlset('http://shop.example/a')}`,
      'DOCTYPE',
    ],
    ['an unknown entity', urlset('http://shop.example/&nbsp;'), 'not well-formed XML'],
    ['200,000 nested elements', `<urlset>${'<url>'.repeat(200_000)}`, 'more than 100 deep'],
    ['an endless text', `<urlset><url><loc>${'a'.repeat(400_000)}`, 'without a tag'],
    ['an endless comment', `<urlset><!-- ${'<>'.repeat(200_000)}`, 'without a tag'],
    ['an endless attribute', `<urlset a="${'>'.repeat(400_000)}`, 'without a tag'],
    ['an HTML page', '<html><body>Not found</body></html>', 'root element is html'],
    ['an empty file', '', 'not well-formed XML'],
    ['random bytes', randomBytes(10_000), 'not well-formed XML'],
    ['half a file', urlset('http://shop.example/a').slice(0, -9), 'truncated'],
  ])('%s', async (_, body, message) => {
    origin.on('/sitemap.xml', { body })
    const found = await discover()
    expect(found.errors).toHaveLength(1)
    expect(found.errors[0]!.message).toContain(message)
    expect(new Set(sockets)).toEqual(new Set([`127.0.0.1:${origin.port}`]))
  })

  it('indexes that list themselves or each other are read once', async () => {
    origin.on('/sitemap.xml', {
      body: index(
        ...Array.from({ length: 1000 }, () => 'http://shop.example/sitemap.xml'),
        'http://shop.example/2.xml',
      ),
    })
    origin.on('/2.xml', { body: index('http://shop.example/sitemap.xml', 'http://shop.example/sitemap.xml#again') })
    expect(await discover()).toMatchObject({ total: 0, files: 2, errors: [] })
    expect(origin.hits('/sitemap.xml')).toBe(1)
  })

  it('endless indexes are bounded in depth and number of files', async () => {
    origin.otherwise((request) =>
      request.path === '/robots.txt'
        ? { status: 404 }
        : { body: index(...Array.from({ length: 3 }, (_, i) => `http://shop.example${request.path}/${i}`)) },
    )
    const deep = await discover()
    expect(deep.errors.every((error) => error.message === 'lists indexes more than 3 deep')).toBe(true)
    expect(deep.errors).toHaveLength(defaultLimits.hostileFiles)
    const wide = await discover({ limits: { ...defaultLimits, indexDepth: 1000, files: 20 } })
    expect(wide.errors[0]!.message).toContain('more than 20 sitemap files')
  })

  it('many hostile files end the discovery of their channel', async () => {
    origin.on('/sitemap.xml', { body: index(...Array.from({ length: 500 }, (_, i) => `http://shop.example/${i}.xml`)) })
    origin.otherwise((request) =>
      request.path === '/robots.txt' ? { status: 404 } : { body: '<!DOCTYPE html><html>' },
    )
    expect((await discover()).errors).toHaveLength(defaultLimits.hostileFiles)
    expect(origin.requests).toHaveLength(2 + defaultLimits.hostileFiles)
  })

  it('stops at the URL limit', async () => {
    origin.on('/sitemap.xml', {
      body: urlset('http://shop.example/1', 'http://shop.example/2', 'http://shop.example/3'),
    })
    const found = await discover({ limits: { ...defaultLimits, urls: 2 } })
    expect(found).toMatchObject({ total: 2, errors: [{ message: 'more than 2 URLs; the rest are skipped' }] })
  })

  it('a stalled body times out', async () => {
    const fetch = openSitemapFetch({ timeout: 200, redirects: 5, retryDelay: 1 })
    origin.on('/sitemap.xml', (_, response) => void response.write('<urlset>'))
    expect((await discover({ fetch })).errors[0]!.message).toMatch(/timeout/i)
    await fetch.close()
  })
})
