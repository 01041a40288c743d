import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { channel, fault, load } from './loading.ts'

describe('faults', () => {
  it('are all listed with key, source, value and what was expected', async () => {
    const message = await fault(
      'server:\n  port: 99999\n  hosst: a\ncache: { memory: much }\nsalesChannels:\n  - { id: 1, url: "ftp://x", origin: "http://a/b" }\nwarmup: 5\n',
      { variables: { PAGECACHE_SERVER_PROCESSES: 'many' } },
    )
    expect(message.split('\n')).toEqual([
      'The configuration has 8 errors:',
      '  server.port (pagecache.yaml:2): 99999 is not valid; expected a whole number from 0 to 65535',
      '  server.processes (PAGECACHE_SERVER_PROCESSES): "many" is not valid; expected a whole number from 1 to 64',
      '  server.hosst (pagecache.yaml:3): unknown key; did you mean host?',
      expect.stringContaining('  salesChannels[0].id (pagecache.yaml:6): 1 is not valid; expected a UUID'),
      expect.stringContaining('  salesChannels[0].url (pagecache.yaml:6): "ftp://x" is not valid; expected a URL'),
      expect.stringContaining(
        '  salesChannels[0].origin (pagecache.yaml:6): "http://a/b" is not valid; expected a URL',
      ),
      '  cache.memory (pagecache.yaml:4): "much" is not valid; expected a size such as 128MB, or a number of bytes',
      '  warmup (pagecache.yaml:7): 5 is not valid; expected keys and values',
    ])
  })

  it('name the known keys of a group whose name the operator chose', async () => {
    const profile = '{ server: "http://a", clientId: a, clientSecret: b }'
    const message = await fault(`profiles: { prod: ${profile}, stage: { urll: b } }`)
    expect(message).toContain(
      'profiles.prod.clientSecret (pagecache.yaml:1): unknown key; did you mean clientSecretFile?',
    )
    expect(message).toContain(
      'profiles.stage.urll (pagecache.yaml:1): unknown key; known keys: server, clientId, clientSecretFile',
    )
  })

  it('name a key that is given twice', async () => {
    expect(await fault('cache: { grace: 1m }\nserver:\n  port: 1\ncache:\n  grace: 2m\n')).toContain(
      '(pagecache.yaml:4): the key cache is given twice',
    )
    expect(await fault('server: { port: 1, "port": 2 }')).toContain('the key port is given twice')
  })

  it('name the channel with a missing key', async () => {
    const message = await fault('salesChannels:\n  - id: 0190c0de-0000-7000-8000-000000000001\n    url: http://a\n')
    expect(message).toContain('salesChannels[0].origin (pagecache.yaml:2): is missing; expected a URL')
  })

  it.each([
    [
      'two channels with one id',
      `salesChannels: [${channel}, ${channel.replace('shop.example', 'b.example')}]`,
      'salesChannels[1].id',
    ],
    [
      'two channels with one URL',
      `salesChannels: [${channel}, ${channel.replace('000001', '000002').replace('shop.example', 'SHOP.example/')}]`,
      'salesChannels[1].url',
    ],
    [
      'two reverse proxies with one name',
      'reverseProxies: [{ name: a, type: varnish, url: "http://a" }, { name: a, type: varnish, url: "http://b" }]',
      'reverseProxies[1].name',
    ],
  ])('%s', async (_, yaml, key) => {
    const message = await fault(yaml)
    expect(message).toContain(`${key} (pagecache.yaml:1): `)
    expect(message).toMatch(/ is also the value of .*; it must be unique/)
  })

  it.each([
    ['{ device: { classes: {}, default: a } }', 'cache.variants.map.device'],
    ['{ device: { header: a, cookie: b, classes: {}, default: a } }', 'cache.variants.map.device'],
    ['{ device: { cookie: b, fromProxy: true, classes: {}, default: a } }', 'cache.variants.map.device'],
    ['{ device: { header: a, classes: { "a b": [] }, default: a } }', 'cache.variants.map.device.classes'],
    ['{ device: { header: a, classes: { a: [""] }, default: a } }', 'cache.variants.map.device.classes.a[0]'],
    ['{ device: { header: a, classes: { a: [x] } } }', 'cache.variants.map.device'],
    ['{ "a b": { header: a, classes: {}, default: a } }', 'cache.variants.map'],
    [
      `{ d: { header: a, classes: { a: [${Array.from({ length: 201 }, () => 'x').join()}] }, default: b } }`,
      'cache.variants.map.d',
    ],
  ])('classes of visitors: %s', async (map, key) => {
    expect(await fault(`cache: { variants: { map: ${map} } }`)).toContain(key)
  })

  it('classes of visitors with too many combinations', async () => {
    const classes = Array.from({ length: 8 }, (_, number) => `c${number}: [x]`).join()
    const one = (name: string) => `${name}: { header: ${name}, classes: { ${classes} }, default: other }`
    expect(await fault(`cache: { variants: { map: { ${one('a')}, ${one('b')} } } }`)).toContain(
      'cache.variants.map (pagecache.yaml:1): its classes have 81 combinations, more than cache.maxVariants (64)',
    )
    await load(`cache: { variants: { map: { ${one('a')} } } }`)
  })

  it('more processes than requests that they share', async () => {
    expect(await fault('server: { processes: 4 }\norigin: { maxConcurrent: 3 }')).toContain(
      'server.processes (pagecache.yaml:1): 4 processes cannot share origin.maxConcurrent (3)',
    )
    await load('server: { processes: 4 }\norigin: { maxConcurrent: 4 }')
  })

  it('a PROXY header that no peer may send', async () => {
    const fatal = 'server: { proxyProtocol: true }\n'
    expect(await fault(fatal)).toContain('server.proxyProtocol (pagecache.yaml:1): every connection would be closed')
    await load(`${fatal}trustedProxies: [10.0.0.1]\n`)
    await load('server: { proxyProtocol: true, socket: /run/pagecache.sock }\n')
  })

  it.each([
    ['trustedProxies: [10.0.0.0/33]', 'trustedProxies[0]'],
    ['purgers: [localhost]', 'purgers[0]'],
    ['cache: { types: [{ type: products, tag: a, path: /b }] }', 'cache.types[0]'],
    ['cache: { types: [{ type: prodct, tag: a }] }', 'cache.types[0].type'],
    ['cache: { bypass: { paths: [checkout] } }', 'cache.bypass.paths[0]'],
    ['cache: { memory: -1 }', 'cache.memory'],
    ['cache: { memory: 1e400 }', 'cache.memory'],
    ['cache: { maxSize: 0 }', 'cache.maxSize'],
    ['origin: { connectTimeout: 0 }', 'origin.connectTimeout'],
    ['origin: { connectTimeout: 5 minutes }', 'origin.connectTimeout'],
    ['server: { port: "8080" }', 'server.port'],
    ['server: { port: 80.5 }', 'server.port'],
    ['warmup: { variants: [{ cookies: { "a b": c } }] }', 'warmup.variants[0].cookies."a b"'],
    ['stages: { customerHeader: "X Y" }', 'stages.customerHeader'],
    [`salesChannels: [${channel.replace('http://shop', 'http://user:pw@shop')}]`, 'salesChannels[0].url'],
    [`salesChannels: [${channel.replace('shop.example', 'shop.example/?a=b')}]`, 'salesChannels[0].url'],
  ])('%s', async (yaml, key) => {
    expect(await fault(yaml)).toContain(`\n  ${key} (pagecache.yaml:1): `)
  })

  it.each([
    ['no YAML', 'server: {\n'],
    ['a key twice', 'server: {}\nserver: {}\n'],
    ['a list', '- a\n'],
    ['a text', 'hello\n'],
    ['a tag that would build something', 'server: !!js/function "x"\n'],
    ['two documents', 'server: {}\n---\ncache: {}\n'],
    [
      'aliases that multiply',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefgh'].map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(',')}]`).join('\n')}\n`,
    ],
  ])('%s is refused', async (_, yaml) => {
    expect(await fault(yaml)).toContain('(pagecache.yaml:')
  })

  it('include keys that would reach a prototype, which is not polluted', async () => {
    expect(await fault('__proto__: { polluted: true }\n')).toContain('__proto__ (pagecache.yaml:1): unknown key')
    expect(await fault('server: { constructor: { prototype: { polluted: true } } }\n')).toContain('server.constructor')
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

  it('never show a secret', async () => {
    const message = await fault(
      'reverseProxies: [{ name: a, type: varnish, url: "http://root:canary@a/b?token=canary" }]\nauth: canary\n',
    )
    expect(message).toContain('http://***@a/b?token=***')
    expect(message).not.toContain('canary')
  })

  it.each(['mysql://u:canary@h/d', 'postgres://u:can/ary@h/d', 'postgres//u:canary@h', 'postgres://h:port/d'])(
    'name a database URL that is none without showing it: %s',
    async (url) => {
      const message = await fault(`records: { url: "${url}" }`)
      expect(message).toContain('records.url')
      expect(message).toContain('*** is not valid; expected a URL such as postgres://')
      expect(message).not.toMatch(/canary|can.ary/)
    },
  )

  it.each(['memcached://u:canary@h', 'redis://u:can/ary@h', 'redis//u:canary@h', 'redis://h:port'])(
    'name a Redis URL that is none without showing it: %s',
    async (url) => {
      const message = await fault(`cache: { shared: { url: "${url}" } }`)
      expect(message).toContain('cache.shared.url')
      expect(message).toContain('*** is not valid; expected a URL such as redis://')
      expect(message).not.toMatch(/canary|can.ary/)
    },
  )

  it('name shared pages without a common database', async () => {
    const message = await fault('cache: { shared: { url: "redis://cache.example" } }')
    expect(message).toContain('cache.shared.url')
    expect(message).toContain('set records.url')
  })

  it('can be tolerated by commands that help to fix them', async () => {
    const cwd = await tempDir()
    await writeFile(join(cwd, 'pagecache.yaml'), 'server: { port: x }')
    const loaded = await loadConfig({}, { cwd, variables: {}, tolerateFaults: true })
    expect(loaded.fault?.message).toContain('server.port')
    expect(loaded.config.server.port).toBe(8080)
  })
})
