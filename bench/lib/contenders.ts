import { fileURLToPath } from 'node:url'
import { startChild } from '../../test/helpers/child.ts'
import { freePort, startDaemon } from '../../test/helpers/daemon.ts'
import type { Origin } from '../../test/helpers/origin.ts'
import { installed, startNginx, startVarnish } from '../../test/helpers/rivals.ts'
import { onServerCore } from './cores.ts'
import { pagePath } from './shop.ts'

export type Coding = 'gzip' | 'identity'

/** A server that serves the sample page from its cache. */
export interface Contender {
  name: ContenderName
  url(coding: Coding): string
  /** Whether a response claims to come from the cache. */
  saysHit(headers: Headers): boolean
  stop(): Promise<unknown>
}

/** The program that a rival needs. */
const programs: Partial<Record<ContenderName, string>> = { varnish: 'varnishd', nginx: 'nginx' }
const starts = { ours, node: bare, varnish, nginx } as const
export type ContenderName = keyof typeof starts
export const contenderNames = Object.keys(starts) as ContenderName[]

/** Starts the named contenders on the server's core; those that are not installed are in `missing`. */
export async function startContenders(
  origin: Origin,
  names: readonly ContenderName[],
): Promise<{ contenders: Contender[]; missing: string[] }> {
  const contenders: Contender[] = []
  const present = names.filter((name) => !(name in programs) || installed(programs[name] ?? ''))
  try {
    for (const name of present) contenders.push(await starts[name](origin))
  } catch (error) {
    await Promise.all(contenders.map((contender) => contender.stop()))
    throw error
  }
  return { contenders, missing: names.filter((name) => !present.includes(name)) }
}

async function ours(origin: Origin): Promise<Contender> {
  const daemon = await startDaemon({ args: ['--origin', origin.url], prefix: onServerCore })
  return {
    name: 'ours',
    url: () => daemon.url + pagePath,
    saysHit: (headers) => /;\s*hit\b/.test(headers.get('cache-status') ?? ''),
    stop: daemon.stop,
  }
}

async function bare(): Promise<Contender> {
  const program = fileURLToPath(new URL('bare-server.ts', import.meta.url))
  const start = async (coding: Coding) => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}${pagePath}`
    const ready = () =>
      fetch(url).then(
        async (answer) => (await answer.arrayBuffer(), true),
        () => false,
      )
    const child = await startChild([...onServerCore, process.execPath, program, String(port), coding], { ready })
    return { url, child }
  }
  const servers = { gzip: await start('gzip'), identity: await start('identity') }
  return {
    name: 'node',
    url: (coding) => servers[coding].url,
    saysHit: () => true,
    stop: () => Promise.all([servers.gzip.child.stop(), servers.identity.child.stop()]),
  }
}

async function varnish(origin: Origin): Promise<Contender> {
  const rival = await startVarnish({ origin: origin.host, probe: pagePath, prefix: onServerCore })
  return {
    name: 'varnish',
    url: () => rival.url + pagePath,
    // A hit has two transaction numbers: its own, and that of the fetch.
    saysHit: (headers) => /^\d+ \d+$/.test(headers.get('x-varnish') ?? ''),
    stop: rival.stop,
  }
}

async function nginx(origin: Origin): Promise<Contender> {
  const rival = await startNginx({ origin: origin.host, probe: pagePath, prefix: onServerCore })
  return {
    name: 'nginx',
    url: () => rival.url + pagePath,
    saysHit: (headers) => headers.get('x-cache') === 'HIT',
    stop: rival.stop,
  }
}
