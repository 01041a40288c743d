import { fileURLToPath } from 'node:url'
import { answers, startChild } from '../../test/helpers/child.ts'
import { freePort, startDaemon } from '../../test/helpers/daemon.ts'
import { installed, startNginx, startVarnish } from '../../test/helpers/rivals.ts'
import { onServerCore } from './cores.ts'
import { basket } from './fast-shop.ts'

export type Coding = 'gzip' | 'identity'

/** A cache in front of the shop, on the server's core. */
export interface Contender {
  name: ContenderName
  /** The bare server has one address per coding. */
  url(path: string, coding: Coding): string
  /** Matches the head of a response that comes from the cache. */
  hit: RegExp
  /** The process, where it may have work left after it has answered. */
  pid: number | null
  stop(): Promise<unknown>
}

/** What the caches need to know of the shop. */
export interface Shop {
  url: string
  host: string
}

/** The program that a rival needs. */
const programs: Partial<Record<ContenderName, string>> = {
  varnish: 'varnishd',
  'varnish-plain': 'varnishd',
  nginx: 'nginx',
}
const starts = { ours, node: bare, varnish, 'varnish-plain': varnishPlain, nginx } as const
export type ContenderName = keyof typeof starts
export const contenderNames = Object.keys(starts) as ContenderName[]

/** Starts the named contenders on the server's core; those that are not installed are in `missing`. */
export async function startContenders(
  shop: Shop,
  names: readonly ContenderName[],
): Promise<{ contenders: Contender[]; missing: string[] }> {
  const contenders: Contender[] = []
  const present = names.filter((name) => !(name in programs) || installed(programs[name] ?? ''))
  try {
    for (const name of present) contenders.push(await starts[name](shop))
  } catch (error) {
    await Promise.all(contenders.map((contender) => contender.stop()))
    throw error
  }
  return { contenders, missing: names.filter((name) => !present.includes(name)) }
}

/** pagecache; `config` is its configuration file. */
export async function ours(shop: Shop, config: Record<string, unknown> = {}): Promise<Contender> {
  const daemon = await startDaemon({ args: ['--origin', shop.url], prefix: onServerCore, config })
  return {
    name: 'ours',
    url: (path) => daemon.url + path,
    hit: /^cache-status:.*;\s*hit\b/im,
    pid: daemon.pid,
    stop: daemon.stop,
  }
}

async function bare(): Promise<Contender> {
  const program = fileURLToPath(new URL('bare-server.ts', import.meta.url))
  const start = async (coding: Coding) => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const argv = [...onServerCore, process.execPath, program, String(port), coding] as const
    return { url, child: await startChild(argv, { ready: () => answers(url) }) }
  }
  const servers = { gzip: await start('gzip'), identity: await start('identity') }
  return {
    name: 'node',
    url: (path, coding) => servers[coding].url + path,
    hit: /^/,
    pid: null,
    stop: () => Promise.all([servers.gzip.child.stop(), servers.identity.child.stop()]),
  }
}

/** What Shopware's own VCL has Varnish do with a page that it stores: index it by tag, and compress it where the shop does not. */
const shopwareVcl = `import xkey;
sub vcl_backend_response {
  if (!beresp.uncacheable && beresp.http.Content-Type ~ "text") { set beresp.do_gzip = true; }
}`

async function varnish(shop: Shop): Promise<Contender> {
  return await varnishWith(shop, 'varnish', shopwareVcl)
}

/** Varnish without an index of tags and without compression: it cannot purge by tag, and stores pages as the shop sends them. */
async function varnishPlain(shop: Shop): Promise<Contender> {
  return await varnishWith(shop, 'varnish-plain', '')
}

async function varnishWith(shop: Shop, name: ContenderName, vcl: string): Promise<Contender> {
  const rival = await startVarnish({ origin: shop.host, probe: basket, prefix: onServerCore, vcl })
  return {
    name,
    url: (path) => rival.url + path,
    // A hit has two transaction numbers: its own, and that of the fetch.
    hit: /^x-varnish: \d+ \d+/im,
    pid: null,
    stop: rival.stop,
  }
}

async function nginx(shop: Shop): Promise<Contender> {
  const rival = await startNginx({ origin: shop.host, probe: basket, prefix: onServerCore })
  return {
    name: 'nginx',
    url: (path) => rival.url + path,
    hit: /^x-cache: HIT/im,
    pid: null,
    stop: rival.stop,
  }
}
