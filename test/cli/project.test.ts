import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { shop as shopAt } from '../operations/examine.ts'

describe('init', () => {
  it.each([
    ['http://shop.example:8081', 'http://127.0.0.1:8000', 8081, 'server.port is 8081, the port of the URL.'],
    ['http://localhost:8080', 'http://127.0.0.1:8000', 8080, 'server.port is 8080, the port of the URL.'],
    [
      'http://shop.example',
      'http://127.0.0.1:8000',
      null,
      'Have a web server forward port 80 to pagecache on port 8080',
    ],
    [
      'https://shop.example:8443',
      'http://127.0.0.1:8000',
      null,
      'pagecache does not terminate TLS. Have a web server forward port 8443',
    ],
    ['http://shop.example:443', 'http://127.0.0.1:8000', null, 'Port 443 needs a web server or special permissions'],
    ['http://localhost:8000', 'http://127.0.0.1:8000', null, 'The shop itself listens on the port of its URL'],
    ['http://shop.example:8000', 'http://10.0.0.1:8000', 8000, 'server.port is 8000'],
  ])('uses the port of %s in front of %s, or explains why not', async (url, origin, port, note) => {
    const cwd = await tempDir()
    expect((await run(['init', '--url', url, '--origin', origin], { cwd })).stdout).toContain(note)
    const value = JSON.parse(
      (await run(['init', '--force', '--json', '--url', url, '--origin', origin], { cwd })).stdout,
    )
    expect(value).toMatchObject({ port, portNote: expect.stringContaining(note) })
    expect(await readFile(join(cwd, 'pagecache.yaml'), 'utf8')).toContain(
      port === null || port === 8080 ? '\n  # port: 8080\n' : `\n  port: ${port}\n`,
    )
  })

  it.each<[string, Record<string, string>, string]>([
    ['fields', { 'sw-language-id': '2fbb5fe2e29a4d70aa5854ce7ce3e20b' }, 'shopware'],
    ['cookies', { 'set-cookie': 'session-=1; path=/' }, 'shopware'],
    ['nothing', { 'set-cookie': 'PHPSESSID=1; path=/' }, 'plain'],
  ])('finds out whether the shop is Shopware by its %s', async (_, fields, shop) => {
    const cwd = await tempDir()
    const port = await shopAt((_request, response) => response.writeHead(200, fields).end())
    const origin = `http://127.0.0.1:${port}`
    const init = ['init', '--force', '--json', '--url', 'http://shop.example', '--origin', origin]
    expect(JSON.parse((await run(init, { cwd })).stdout)).toMatchObject({ shop, shopNote: expect.any(String) })
    expect(await readFile(join(cwd, 'pagecache.yaml'), 'utf8')).toContain(
      shop === 'plain' ? '\n# shop: plain\n' : '\nshop: shopware\n',
    )
    expect(JSON.parse((await run([...init, '--shop', 'plain'], { cwd })).stdout)).toMatchObject({
      shop: 'plain',
      shopNote: null,
    })
    const { values } = JSON.parse((await run(['config:show', '--json'], { cwd })).stdout) as { values: object[] }
    expect(values).toContainEqual({ key: 'shop', value: 'plain', source: 'default' })
  })

  it('writes a valid configuration', async () => {
    const cwd = await tempDir()
    const written = await run(['init', '--url', 'http://shop.example', '--origin', 'http://127.0.0.1:8000'], { cwd })
    expect(written).toMatchObject({ code: 0, stderr: '' })
    const { code, stdout } = await run(['config:show', '--json'], { cwd })
    expect(code).toBe(0)
    const { values } = JSON.parse(stdout) as { values: { key: string; value: unknown; source: string }[] }
    expect(values).toContainEqual({
      key: 'salesChannels[0].origin',
      value: 'http://127.0.0.1:8000',
      source: expect.stringMatching(/^pagecache.yaml:\d+$/) as string,
    })
  })

  it('overwrites a file only with --force, even an invalid one', async () => {
    const cwd = await tempDir()
    await writeFile(join(cwd, 'pagecache.yaml'), 'broken: [')
    const refused = await run(['init', '--json'], { cwd })
    expect(refused.code).toBe(3)
    expect(JSON.parse(refused.stdout)).toMatchObject({
      success: false,
      code: 'WRONG_STATE',
      hint: 'Overwrite it with --force.',
    })
    expect(await readFile(join(cwd, 'pagecache.yaml'), 'utf8')).toBe('broken: [')
    expect((await run(['init', '--force'], { cwd })).code).toBe(0)
    expect((await run(['cache:stats'], { cwd })).code).toBe(0)
  })

  it('writes to the file named by --config', async () => {
    const cwd = await tempDir()
    expect((await run(['init', '--config', 'other.yaml'], { cwd })).code).toBe(0)
    expect(await readFile(join(cwd, 'other.yaml'), 'utf8')).toContain('# port: 8080')
  })

  it.each([
    [['--url', 'http://shop.example'], 'origin'],
    [['--url', 'ftp://a', '--origin', 'http://b'], '--url: expected a URL'],
    [['--url', 'http://a', '--origin', 'http://b/path'], '--origin: expected a URL'],
  ])('%j is refused', async (args, message) => {
    const { code, stderr } = await run(['init', ...args], { cwd: await tempDir() })
    expect(stderr).toContain(message)
    expect(code).toBe(2)
  })
})

describe('a broken configuration', () => {
  it('makes every command exit with 2 and list the errors', async () => {
    const cwd = await tempDir()
    await writeFile(join(cwd, 'pagecache.yaml'), 'server: { port: 0 }\ncahce: {}\n')
    const { code, stdout, stderr } = await run(['cache:stats'], { cwd })
    expect(stderr).toContain('cahce (pagecache.yaml:2): unknown key; did you mean cache?')
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })
})

describe('config:show', () => {
  it('shows environment variables and file lines as sources and masks secrets', async () => {
    const cwd = await tempDir()
    await writeFile(
      join(cwd, 'pagecache.yaml'),
      'reverseProxies:\n  - { name: a, type: varnish, url: "http://user:canary@127.0.0.1:1" }\n',
    )
    const { stdout } = await run(['config:show'], { cwd, env: { PAGECACHE_SERVER_PORT: '81', APP_ENV: 'dev' } })
    expect(stdout).toContain('environment: dev\n')
    expect(stdout).toContain('server.port\t81\tPAGECACHE_SERVER_PORT\n')
    expect(stdout).toContain('reverseProxies[0].url\t"http://***@127.0.0.1:1"\tpagecache.yaml:2\n')
    expect(stdout).not.toContain('canary')
  })
})
