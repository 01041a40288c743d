import { execFile } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from 'node:tls'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { createCertificate } from '../helpers/certificate.ts'
import { startChild, type Child } from '../helpers/child.ts'
import { hasChromium, openChromium } from '../helpers/chromium.ts'
import { freePort } from '../helpers/daemon.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { installed, rivalEnvironment } from '../helpers/rivals.ts'
import { scratch, type Scratch } from '../helpers/scratch.ts'
import { until } from '../helpers/until.ts'
import { page } from '../http/api/shop.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const deploy = fileURLToPath(new URL('../../docs/deploy', import.meta.url))
const id = '0190c0de-0000-7000-8000-000000000001'

/** Replaces text that a documented file must contain. */
function replaced(text: string, ...changes: [from: string, to: string][]): string {
  return changes.reduce((result, [from, to]) => {
    expect(result).toContain(from)
    return result.replaceAll(from, to)
  }, text)
}

interface WebServer {
  program: string
  /** Writes the documented configuration with paths and a port of the test's own. Returns the command line. */
  configure(directory: string, port: number, socket: string): Promise<[string, ...string[]]>
}

const caddy: WebServer = {
  program: 'caddy',
  async configure(directory, port, socket) {
    const file = join(directory, 'Caddyfile')
    const options = `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tstorage file_system ${directory}/caddy\n}\n`
    const text = await readFile(join(deploy, 'Caddyfile'), 'utf8')
    const own = `https://shop.example:${port} {\n\ttls internal\n`
    await writeFile(
      file,
      options + replaced(text, ['shop.example {\n', own], ['unix//run/pagecache/pagecache.sock', `unix/${socket}`]),
    )
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', file]
  },
}

const nginx: WebServer = {
  program: 'nginx',
  async configure(directory, port, socket) {
    const { key, cert } = createCertificate(directory, 'shop.example')
    const text = replaced(
      await readFile(join(deploy, 'nginx.conf'), 'utf8'),
      ['unix:/run/pagecache/pagecache.sock', `unix:${socket}`],
      ['listen 443', `listen 127.0.0.1:${port}`],
      ['/etc/ssl/shop.example.pem', cert],
      ['/etc/ssl/private/shop.example.key', key],
    )
    await mkdir(join(directory, 'logs'))
    // If the master runs as root, its workers drop to an unprivileged user that cannot enter the directory.
    const user = process.getuid!() === 0 ? 'user root;\n' : ''
    const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${directory}/${name};`,
    )
    const file = join(directory, 'main.conf')
    await writeFile(
      file,
      `${user}daemon off;\npid ${directory}/pid;\nevents {}\nhttp {\naccess_log off;\n${places.join('\n')}\n${text}}\n`,
    )
    return ['nginx', '-p', directory, '-c', file, '-e', join(directory, 'logs/error.log')]
  },
}

const run = promisify(execFile)

/** A browser that speaks nothing but HTTP/3 to a server with a certificate that only it trusts. */
async function openHttp3Browser(port: number): Promise<Browser> {
  const socket = connect({ port, servername: 'shop.example', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { publicKey } = new X509Certificate(socket.getPeerCertificate().raw)
  socket.destroy()
  const digest = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64')
  return await openChromium([
    `--origin-to-force-quic-on=shop.example:${port}`,
    `--ignore-certificate-errors-spki-list=${digest}`,
    '--host-resolver-rules=MAP shop.example 127.0.0.1',
  ])
}

describe.each([caddy, nginx])('$program in front, as docs/deploy.md says', (server) => {
  const canRun = ['curl', 'openssl', server.program].every(installed)
  if (!canRun) console.warn(`The test with a real ${server.program} is left out: it, curl or openssl is not installed.`)
  let files: Scratch
  let origin: Origin
  let daemon: Child
  let front: Child
  let port = 0

  /** One request over TLS and HTTP/2. Returns head and body. */
  const ask = async (path: string, ...options: string[]) => {
    const target = ['--resolve', `shop.example:${port}:127.0.0.1`, `https://shop.example:${port}${path}`]
    const common = ['-sik', '--http2', '--interface', '127.0.0.2', '-H', 'Host: shop.example']
    return (await run('curl', [...common, ...options, ...target])).stdout
  }

  beforeAll(async () => {
    if (!canRun) return
    files = await scratch('web-server')
    origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path}`) })
    const socket = join(files.path, 'pagecache.sock')
    port = await freePort()
    const salesChannels = [
      { id, url: 'https://shop.example', origin: origin.url },
      // A browser names the port.
      { id: id.replace(/1$/, '2'), url: `https://shop.example:${port}`, origin: origin.url },
    ]
    await writeFile(join(files.path, 'pagecache.yaml'), stringify({ server: { socket }, salesChannels }))
    daemon = await startChild([process.execPath, program, 'serve', '--no-workers'], {
      cwd: files.path,
      env: { ...process.env, PAGECACHE_PROJECT_DIR: files.path },
      ready: (logs) => logs.includes('pagecache listens on'),
    })
    front = await startChild(await server.configure(files.path, port, socket), {
      env: { ...rivalEnvironment, HOME: files.path, XDG_DATA_HOME: files.path, XDG_CONFIG_HOME: files.path },
      ready: () =>
        ask('/healthz').then(
          (text) => text.startsWith('HTTP/2 200'),
          () => false,
        ),
    })
  })
  afterAll(async () => {
    await front?.stop()
    await daemon?.stop()
    await origin?.stop()
    await files?.discard()
  })

  it.skipIf(!canRun)(
    'serves pages over HTTP/2 from the cache, with the address and scheme of the visitor',
    async () => {
      const claims = ['X-Forwarded-For: 127.0.0.1', 'X-Forwarded-Proto: http', 'X-Forwarded-Host: evil.example']
      const fields = claims.flatMap((claim) => ['-H', claim])
      for (const path of ['/a', '/checkout/cart']) {
        expect(await ask(path, ...fields)).toMatch(new RegExp(`^HTTP/2 200[^]*page of ${path}`))
        expect(origin.last(path).headers).toMatchObject({
          host: 'shop.example',
          'x-forwarded-for': '127.0.0.2',
          'x-forwarded-proto': 'https',
          'x-forwarded-host': 'shop.example',
        })
      }
      await until(async () => /^cache-status: pagecache; hit/m.test(await ask('/a', ...fields)))
    },
  )

  it.skipIf(!canRun || server.program !== 'caddy')('offers HTTP/3', async () => {
    expect(await ask('/a')).toContain(`\r\nalt-svc: h3=":${port}"`)
  })

  it.skipIf(!canRun || server.program !== 'caddy' || !hasChromium)(
    'serves pages over HTTP/3 to a browser, with its address and scheme',
    async () => {
      const browser = await openHttp3Browser(port)
      onTestFinished(() => browser.close())
      const tab = await browser.newPage()
      tab.setDefaultTimeout(60_000)
      for (const path of ['/a', '/checkout/cart']) {
        const answer = await tab.goto(`https://shop.example:${port}${path}`)
        expect(await answer!.text()).toContain(`page of ${path}`)
        expect(await tab.evaluate('performance.getEntriesByType("navigation")[0].nextHopProtocol')).toBe('h3')
        expect(origin.last(path).headers).toMatchObject({
          host: `shop.example:${port}`,
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-proto': 'https',
        })
      }
    },
  )

  it.skipIf(!canRun)('refuses purges from outside', async () => {
    for (const options of [
      ['-X', 'PURGE'],
      ['-X', 'PURGE', '-H', 'xkey: all'],
      ['-X', 'PURGE', '-H', 'X-Forwarded-For: 127.0.0.1'],
    ])
      expect(await ask('/a', ...options)).toMatch(/^HTTP\/2 403/)
    // nginx refuses the method itself.
    expect(await ask('/', '-X', 'BAN')).toMatch(/^HTTP\/2 4\d\d/)
    expect(await ask('/a')).toMatch(/^cache-status: pagecache; hit/m)
    expect(await ask('/a', '-H', 'X-Pagecache-Debug: 1')).not.toMatch(/^x-pagecache-debug/m)
  })
})
