import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { parse, stringify } from 'yaml'
import { startChild } from '../helpers/child.ts'
import { deploy, faultsIn, readCompose, type Service } from '../helpers/compose.ts'
import { freePort } from '../helpers/daemon.ts'
import { installed, rivalEnvironment } from '../helpers/rivals.ts'
import { scratch } from '../helpers/scratch.ts'
import { until } from '../helpers/until.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFile(join(deploy, path), 'utf8')

interface Config {
  trustedProxies: string[]
  purgers: string[]
  salesChannels: { url: string; origin: string }[]
}

const compose = readCompose<'caddy' | 'pagecache' | 'shop'>('compose.yaml')
const { caddy, pagecache, shop } = compose.services
const config = parse(await read('compose/pagecache.yaml')) as Config
/** Where npm installs the package globally in the image. */
const installedAt = '/usr/local/lib/node_modules/pagecache/'

it('compose.yaml has known keys, and refers to what exists', async () => {
  expect(faultsIn(compose, (image) => image === 'pagecache')).toEqual([])
  const built = pagecache.build!
  expect(shop.build).toEqual(built)
  expect(existsSync(resolve(deploy, built.context, built.dockerfile))).toBe(true)
  expect([shop.image, pagecache.image]).toEqual(['pagecache', 'pagecache'])
  const container = await read('Containerfile')
  // The health check that Caddy waits for, the port, and the volume of the image.
  for (const part of [
    'HEALTHCHECK',
    'EXPOSE 8080',
    'VOLUME /srv/pagecache/var',
    'PAGECACHE_SERVER_HOST=0.0.0.0',
    'npm install --global',
  ])
    expect(container).toContain(part)
  expect(pagecache.volumes).toContain('pagecache:/srv/pagecache/var')
  expect(pagecache.environment).toEqual({ PAGECACHE_CONFIG: '/etc/pagecache/pagecache.yaml' })
  expect(pagecache.volumes).toContain('./compose:/etc/pagecache:ro')
  const { files } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { files: string[] }
  expect(files).toContain('dist')
  expect(shop.entrypoint).toEqual(['node', `${installedAt}dist/demo/shop-main.js`])
})

it('pagecache trusts Caddy and obeys the shop, and they find each other', async () => {
  const address = (service: Service) => service.networks['shop']!.ipv4_address!
  expect(config.trustedProxies).toEqual([address(caddy)])
  expect(config.purgers).toEqual(['127.0.0.0/8', address(shop)])
  const options = shop.command!
  const option = (name: string) => options[options.indexOf(`--${name}`) + 1]
  expect([option('host'), option('purge')]).toEqual(['0.0.0.0', 'http://pagecache:8080'])
  expect(config.salesChannels.map(({ url, origin }) => [url, origin])).toEqual([
    [option('url'), `http://shop:${option('port')}`],
    [`${option('url')}/de`, `http://shop:${option('port')}`],
  ])
  expect(await read('compose/Caddyfile')).toContain('reverse_proxy pagecache:8080')
  expect(caddy.ports).toEqual(['80:80', '443:443', '443:443/udp'])
})

const canRun = ['curl', 'caddy'].every(installed)
if (!canRun) console.warn('The test of compose.yaml with a real Caddy is left out: it or curl is not installed.')

it.skipIf(!canRun)('its commands and files bring up the shop behind pagecache behind Caddy', async () => {
  const files = await scratch('compose')
  onTestFinished(() => files.discard())
  const [shopPort, port, tlsPort] = [await freePort(), await freePort(), await freePort()]
  /** The names and addresses of the containers on this machine, where Caddy and the shop have different addresses. */
  const local = (part: string) =>
    part
      .replaceAll('http://shop:8000', `http://127.0.0.4:${shopPort}`)
      .replaceAll('pagecache:8080', `127.0.0.1:${port}`)
      .replaceAll('0.0.0.0', '127.0.0.4')
      .replaceAll('"8000"', `"${shopPort}"`)
  const own = JSON.parse(local(JSON.stringify(config))) as Config
  // Everything here has the address 127.0.0.1, which Caddy has in the place of its own.
  const settings = { ...own, trustedProxies: ['127.0.0.1'], purgers: ['127.0.0.1'], server: { port } }
  await writeFile(join(files.path, 'pagecache.yaml'), stringify(settings))
  const caddyfile = local(await read('compose/Caddyfile')).replace(
    'shop.localhost {',
    `https://shop.localhost:${tlsPort} {`,
  )
  const options = `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tstorage file_system ${files.path}/caddy\n}\n`
  await writeFile(join(files.path, 'Caddyfile'), options + caddyfile)

  const start = async (argv: string[], ready: (logs: string) => boolean | Promise<boolean>) => {
    const child = await startChild(argv as [string], {
      cwd: files.path,
      env: { ...rivalEnvironment, HOME: files.path, XDG_DATA_HOME: files.path, PAGECACHE_PROJECT_DIR: files.path },
      ready,
    })
    onTestFinished(async () => void (await child.stop()))
  }
  const command = JSON.parse(local(JSON.stringify(shop.command))) as string[]
  const token = ['--no-latency', '--admin-token', 'secret']
  await start([process.execPath, shop.entrypoint![1]!.replace(installedAt, root), ...command, ...token], (logs) =>
    logs.includes('\n'),
  )
  await start([process.execPath, join(root, 'bin/run.js'), 'serve'], (logs) => logs.includes('pagecache listens on'))
  const ask = async (path: string, ...extra: string[]) => {
    const target = ['--resolve', `shop.localhost:${tlsPort}:127.0.0.1`, `https://shop.localhost:${tlsPort}${path}`]
    return (await promisify(execFile)('curl', ['-sik', '-H', 'Host: shop.localhost', ...extra, ...target])).stdout
  }
  await start(['caddy', 'run', '--adapter', 'caddyfile', '--config', join(files.path, 'Caddyfile')], () =>
    ask('/').then(
      (answer) => answer.startsWith('HTTP/2 200'),
      () => false,
    ),
  )

  await until(async () => /^cache-status: pagecache; hit/m.test(await ask('/de/')))
  const product = /class="card" href="([^"]+)"/.exec(await ask('/'))![1]!
  await until(async () => /^cache-status: pagecache; hit/m.test(await ask(product)))
  expect(await ask(product, '-X', 'PURGE', '--interface', '127.0.0.9')).toMatch(/^HTTP\/2 403/)
  const id = /data-product="(\w+)"/.exec(await ask(product))![1]!
  const changed = await fetch(`http://127.0.0.4:${shopPort}/api/product/${id}`, {
    method: 'PATCH',
    headers: { authorization: 'Bearer secret', 'sw-force-cache-invalidate': '1' },
    body: '{"price":4200}',
  })
  expect(changed.status).toBe(204)
  expect(await ask(product)).toContain('>€42.00<')
})
