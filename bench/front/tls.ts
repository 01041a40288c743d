import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { createCertificate } from '../../test/helpers/certificate.ts'
import { startChild, type Child } from '../../test/helpers/child.ts'
import { freePort } from '../../test/helpers/daemon.ts'
import { exchange } from '../../test/helpers/exchange.ts'
import { cachingServer, installed, nginxConfiguration, rivalEnvironment } from '../../test/helpers/rivals.ts'
import { scratch } from '../../test/helpers/scratch.ts'
import { onLoadCore, onServerCore } from '../lib/cores.ts'
import { load } from '../lib/wrk.ts'
import { check } from './sample.ts'
import { hit, type Arrangement, type Shape } from './shape.ts'

const host = 'shop.example'
const deploy = fileURLToPath(new URL('../../docs/deploy', import.meta.url))
const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

/** A server with TLS on the server's core. */
interface Server {
  port: number
  hit: RegExp
  children: Child[]
}

type Client = 'wrk' | 'h2load'

/** Hits over TLS through a web server in front of the daemon, as docs/deploy has them, beside nginx's own cache over TLS. */
export function tlsShapes(arrangement: Arrangement): Shape[] {
  return (['caddy', 'nginx'] as const).flatMap((server) => [
    through(arrangement, server, 'wrk'),
    ...(installed('h2load') ? [through(arrangement, server, 'h2load')] : []),
  ])
}

function through({ shop, connections, seconds }: Arrangement, server: 'caddy' | 'nginx', client: Client): Shape {
  let opened: { ours: Server; cache: Server; stop(): Promise<void> } | null = null
  const sample = hit('gzip')
  const rate = async ({ port, hit: pattern }: Server, duration: number) => {
    const url = (path: string) => `https://127.0.0.1:${port}${path}`
    const headers = { ...sample.headers, Host: host }
    await exchange(url(sample.path), { headers })
    const contender = { name: 'ours', url, hit: pattern, pid: null, stop: () => Promise.resolve() } as const
    await check(contender, { ...sample, headers })
    const asked = await shop.requests()
    const options = { headers, connections, seconds: duration }
    const result =
      client === 'wrk'
        ? (await load({ url: url(sample.path), ...options })).requestsPerSecond
        : await overHttp2(`https://${host}:${port}${sample.path}`, port, options)
    if ((await shop.requests()) !== asked) throw new Error(`${server}: hits reached the shop`)
    return result
  }
  return {
    name: `hit over TLS through ${server}, ${client === 'wrk' ? 'HTTP/1.1' : 'HTTP/2'}`,
    unit: "× nginx's cache",
    rivals: [],
    goal: { atLeast: 0.5 },
    async prepare() {
      opened = await open(server, shop)
      for (const each of [opened.ours, opened.cache]) await rate(each, 1)
    },
    async measure() {
      const own = await rate(opened!.ours, seconds)
      const rival = await rate(opened!.cache, seconds)
      return { value: own / rival, note: `${Math.round(own)} and ${Math.round(rival)} requests/s` }
    },
    stop: async () => opened?.stop(),
  }
}

async function overHttp2(
  url: string,
  port: number,
  {
    headers,
    connections,
    seconds,
  }: { headers: Readonly<Record<string, string>>; connections: number; seconds: number },
): Promise<number> {
  const fields = Object.entries(headers).map(([name, value]) => `-H${name === 'Host' ? ':authority' : name}: ${value}`)
  const [taskset, ...pinned] = onLoadCore
  const streams = ['-t1', `-c${connections}`, '-m1', `-D${seconds}`, `--connect-to=127.0.0.1:${port}`]
  const { stdout } = await promisify(execFile)(taskset, [...pinned, 'h2load', ...streams, ...fields, url])
  const [, failed, errored] = /(\d+) failed, (\d+) errored/.exec(stdout) ?? []
  const per = /, ([\d.]+) req\/s/.exec(stdout)?.[1]
  if (
    Number(failed) + Number(errored) > connections ||
    per === undefined ||
    !stdout.includes('Application protocol: h2')
  )
    throw new Error(`${url}: ${stdout}`)
  return Number(per)
}

async function open(server: 'caddy' | 'nginx', shop: Arrangement['shop']) {
  const directory = await scratch('tls')
  const children: Child[] = []
  const start = async (name: string, prepare: (path: string, port: number) => Promise<string[]>) => {
    const port = await freePort()
    const path = join(directory.path, name)
    await mkdir(join(path, 'logs'), { recursive: true })
    const argv: [string, ...string[]] = [...onServerCore, ...(await prepare(path, port))]
    const ready = () =>
      exchange(`https://127.0.0.1:${port}/`, { headers: { Host: host } }).then(
        () => true,
        () => false,
      )
    children.push(await startChild(argv, { cwd: path, env: { ...rivalEnvironment, HOME: path }, ready }))
    return port
  }
  const socket = join(directory.path, 'pagecache.sock')
  const salesChannels = [{ id: '0190c0de-0000-7000-8000-000000000001', url: `https://${host}`, origin: shop.url }]
  await writeFile(join(directory.path, 'pagecache.yaml'), stringify({ server: { socket }, salesChannels }))
  children.push(
    await startChild([...onServerCore, process.execPath, program, 'serve', '--no-workers'], {
      cwd: directory.path,
      env: { ...process.env, PAGECACHE_PROJECT_DIR: directory.path },
      ready: (logs) => logs.includes('pagecache listens on'),
    }),
  )
  const front = await start('front', (path, port) =>
    server === 'caddy' ? caddy(path, port, socket) : nginx(path, port, socket),
  )
  const cache = await start('cache', (path, port) => cachingNginx(path, port, shop.host))
  return {
    ours: { port: front, hit: /^cache-status:.*;\s*hit\b/im, children },
    cache: { port: cache, hit: /^x-cache: HIT/im, children },
    stop: async () => {
      for (const child of children.toReversed()) await child.stop()
      await directory.discard()
    },
  }
}

async function caddy(path: string, port: number, socket: string): Promise<string[]> {
  const options = `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tstorage file_system ${path}/storage\n}\n`
  // wrk names no host in its handshake, so Caddy needs a certificate for the address too.
  const sites = `https://${host}:${port}, https://127.0.0.1:${port}`
  const text = (await readFile(join(deploy, 'Caddyfile'), 'utf8'))
    .replace(`${host} {\n`, `${sites} {\n\ttls internal\n`)
    .replace('unix//run/pagecache/pagecache.sock', `unix/${socket}`)
  await writeFile(join(path, 'Caddyfile'), options + text)
  return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(path, 'Caddyfile')]
}

async function nginx(path: string, port: number, socket: string): Promise<string[]> {
  const { key, cert } = createCertificate(path, host)
  const text = (await readFile(join(deploy, 'nginx.conf'), 'utf8'))
    .replace('unix:/run/pagecache/pagecache.sock', `unix:${socket}`)
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace('/etc/ssl/shop.example.pem', cert)
    .replace('/etc/ssl/private/shop.example.key', key)
  return await nginxWith(path, text)
}

async function cachingNginx(path: string, port: number, origin: string): Promise<string[]> {
  const { key, cert } = createCertificate(path, host)
  const tls = `listen 127.0.0.1:${port} ssl http2;\n    ssl_certificate ${cert};\n    ssl_certificate_key ${key};`
  return await nginxWith(path, cachingServer(path, port, origin).replace(`listen 127.0.0.1:${port};`, tls))
}

async function nginxWith(path: string, servers: string): Promise<string[]> {
  await writeFile(join(path, 'nginx.conf'), nginxConfiguration(path, servers))
  return ['nginx', '-p', path, '-c', join(path, 'nginx.conf'), '-e', join(path, 'logs/error.log')]
}
