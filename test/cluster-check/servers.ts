import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, startDaemon, type Daemon } from '../helpers/daemon.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { durable, execute, newDatabase, startPostgres, type PostgresServer } from '../helpers/postgres.ts'
import { startRedis, type Redis } from '../helpers/redis.ts'
import { startRelay, type Relay } from '../helpers/relay.ts'
import { scratch, type Scratch } from '../helpers/scratch.ts'
import { startVarnishProxy, type Varnish } from '../helpers/varnish.ts'
import { host, missing, pages } from './pages.ts'

export type NodeName = 'one' | 'two' | 'three' | 'four'

/** The third node asks the shop for every page while it has no lease. */
export const strictNodes: readonly NodeName[] = ['three']
/** How long the others serve without a lease, and all with one (milliseconds). */
export const alone = 5_000
export const lease = 1_000
/** Leases of a build without their margin: purges do not wait for them, and nodes serve older pages until they end. */
const longLease = 10_000

export const channel = '0190c0de-0000-7000-8000-0000000000ff'

/** A machine: a directory, a port, and relays to the services. Its daemon is null while it is not running. */
export interface Machine {
  name: NodeName
  url: string
  port: number
  directory: Scratch
  postgres: Relay
  redis: Relay
  daemon: Daemon | null
}

/** Everything that one run of the check needs. */
export interface Servers {
  origin: Origin
  postgres: PostgresServer
  database: string
  redis: Redis
  varnish: Varnish
  toVarnish: Relay
  machines: readonly Machine[]
  /** Starts the daemon of a machine. */
  start(machine: Machine): Promise<void>
  stop(): Promise<void>
}

/** How long the shop works on a page at most, in milliseconds: purges overtake fetches. */
const slowest = 60

/** @param version the version that the shop has of a page @param program the program to check; default: this build */
export async function startServers(
  version: (path: string) => number,
  next: () => number,
  program: string | null,
): Promise<Servers> {
  const postgres = await startPostgres(durable)
  if (postgres === null) throw new Error('PostgreSQL is not installed')
  const [redis, origin, database] = [await startRedis(), await startShop(version, next), await newDatabase(postgres)]
  const machines = await Promise.all(
    (['one', 'two', 'three', 'four'] as const).map((name) => newMachine(name, postgres.socket, redis.port)),
  )
  const varnish = await startVarnishProxy(`127.0.0.1:${machines[0]!.port}`)
  const toVarnish = await startRelay(varnish.port)
  const start = async (machine: Machine) => {
    const duration = program === null ? lease : longLease
    const config = configOf(machine, { origin, database: new URL(database).pathname, proxy: toVarnish.url, duration })
    machine.daemon = await startDaemon({
      projectDir: machine.directory.path,
      port: machine.port,
      config,
      ...(program !== null && { program }),
    })
  }
  return {
    origin,
    postgres,
    database,
    redis,
    varnish,
    toVarnish,
    machines,
    start,
    async stop() {
      for (const { daemon } of machines) daemon?.kill('SIGKILL')
      await Promise.all(machines.map(({ daemon }) => daemon?.ended))
      await Promise.all(machines.flatMap((each) => [each.postgres.stop(), each.redis.stop(), each.directory.discard()]))
      await Promise.all([toVarnish.stop(), varnish.stop(), origin.stop(), redis.stop(), postgres.stop()])
    },
  }
}

async function newMachine(name: NodeName, socket: string, redisPort: number): Promise<Machine> {
  const port = await freePort()
  return {
    name,
    port,
    url: `http://127.0.0.1:${port}`,
    directory: await scratch(`cluster-check-${name}`),
    postgres: await startRelay(socket),
    redis: await startRelay(redisPort),
    daemon: null,
  }
}

function configOf(
  { name, postgres, redis }: Machine,
  { origin, database, proxy, duration }: { origin: Origin; database: string; proxy: string; duration: number },
): Record<string, unknown> {
  const mode = strictNodes.includes(name) ? 'strict' : 'available'
  return {
    cluster: { node: name, mode, lease: `${duration}ms`, alone: `${alone}ms` },
    salesChannels: [{ id: channel, name: 'Shop', url: `http://${host}`, origin: origin.url }],
    records: { url: `postgres://pagecache@127.0.0.1:${postgres.port}${database}` },
    cache: {
      shared: { url: `redis://127.0.0.1:${redis.port}` },
      types: [
        { type: 'products', path: '/p/*' },
        { type: 'categories', path: '/c/*' },
      ],
    },
    reverseProxies: [{ name: 'varnish', type: 'varnish', url: proxy }],
    purge: { timeout: '2s', settleTime: '200ms' },
    trustedProxies: ['127.0.0.1'],
    auth: { tokenLifetime: '1h' },
    stages: { rateLimit: { perAddress: null, perStage: null, total: null } },
  }
}

/** A shop whose pages name their version: the one when the request arrived. */
function startShop(version: (path: string) => number, next: () => number): Promise<Origin> {
  const known = new Map(pages.map((page) => [page.path, page]))
  return startOrigin({
    async otherwise({ path }) {
      const page = known.get(path)
      if (page === undefined) return { status: path === missing ? 404 : 410, body: 'none' }
      const body = `version ${version(path)} of ${path}\n${'x'.repeat(500)}`
      await sleep(next() * slowest)
      const headers = { 'content-type': 'text/html', 'cache-control': 'public, s-maxage=3600' }
      return { headers: { ...headers, xkey: ['shop', ...page.tags].join(' ') }, body }
    },
  })
}

/** Removes the pages of a machine whose daemon is not running. */
export async function clearPages({ directory }: Machine): Promise<void> {
  await rm(join(directory.path, 'var/cache'), { recursive: true, force: true, maxRetries: 10 })
}

/** Runs a statement in the database of a run, past all relays. */
export async function rows<Row>({ database }: Servers, statement: string): Promise<Row[]> {
  return (await execute(database, statement)).rows as Row[]
}
