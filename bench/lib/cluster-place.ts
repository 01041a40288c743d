import { spawnSync } from 'node:child_process'
import { Agent, request } from 'node:http'
import { freePort, startDaemon, type Daemon } from '../../test/helpers/daemon.ts'
import { startOrigin, type Origin } from '../../test/helpers/origin.ts'
import { durable, newDatabase, startPostgres } from '../../test/helpers/postgres.ts'
import { startRedis, type Redis } from '../../test/helpers/redis.ts'
import { scratch } from '../../test/helpers/scratch.ts'
import { pageHeaders, samplePage } from './page.ts'

/** The host of the shop, whose pages all nodes share. */
export const host = 'shop.test'

export interface BenchNode {
  daemon: Daemon
  /** Starts the daemon again, after it was killed. */
  restart(): Promise<void>
  /** Creates a stage; returns its ID. */
  newStage(): Promise<string>
}

/** Three nodes with PostgreSQL and Redis, and a daemon with SQLite, all in front of one shop. */
export interface ClusterPlace {
  nodes: readonly [BenchNode, BenchNode, BenchNode]
  single: BenchNode
  shop: Origin
  redis: Redis
  stop(): Promise<void>
}

/** Starts PostgreSQL as shops run it: acknowledged commits survive a crash. */
export async function startDurablePostgres(settings: Record<string, string> = {}) {
  const server = await startPostgres({ ...durable, autovacuum: 'on', ...settings })
  if (server === null) throw new Error('PostgreSQL is not installed')
  return server
}

export async function startCluster(): Promise<ClusterPlace> {
  const [postgres, redis, shop] = [await startDurablePostgres(), await startRedis(), await startShop()]
  const url = await newDatabase(postgres)
  const config = (node: string) => ({ ...common(shop), cluster: { node }, records: { url } })
  const shared = { cache: { shared: { url: redis.url } } }
  const one = await startNode({ ...config('one'), ...shared })
  const [two, three] = await Promise.all([
    startNode({ ...config('two'), ...shared }),
    startNode({ ...config('three'), ...shared }),
  ])
  const single = await startNode(common(shop))
  return {
    nodes: [one, two, three],
    single,
    shop,
    redis,
    async stop() {
      await Promise.all([one, two, three, single].map(({ stop }) => stop()))
      await Promise.all([shop.stop(), redis.stop(), postgres.stop()])
    },
  }
}

function common(shop: Origin): Record<string, unknown> {
  return {
    salesChannels: [
      { id: '0190c0de-0000-7000-8000-000000000001', name: 'Bench', url: `http://${host}`, origin: shop.url },
    ],
    stages: { rateLimit: { perAddress: null, perStage: null, total: null } },
  }
}

/** Pages of 20 kB, each with a tag of its own: `/tag/7` has `tag-7`. */
function startShop(): Promise<Origin> {
  const { gzip } = samplePage()
  return startOrigin({
    otherwise: ({ path }) => ({
      headers: { ...pageHeaders, 'content-encoding': 'gzip', xkey: path.slice(1).replace('/', '-') },
      body: gzip,
    }),
  })
}

async function startNode(config: Record<string, unknown>): Promise<BenchNode & { stop(): Promise<void> }> {
  const [directory, port] = [await scratch('cluster-bench'), await freePort()]
  const start = () => startDaemon({ projectDir: directory.path, port, config })
  const node = {
    daemon: await start(),
    restart: async () => void (node.daemon = await start()),
    async newStage() {
      const { stdout, stderr } = await node.daemon.run('stage:create', 'Bench', '--json')
      if (stdout === '') throw new Error(stderr)
      return (JSON.parse(stdout) as { stage: { id: string } }).stage.id
    },
    async stop() {
      await node.daemon.stop()
      await directory.discard()
    },
  }
  return node
}

/** Moves processes and their threads to these cores, such as `0` or `0,1`. */
export function pin(cores: string, ...pids: readonly number[]): void {
  for (const pid of pids) {
    const moved = spawnSync('taskset', ['-a', '-c', '-p', cores, String(pid)], { encoding: 'utf8' })
    if (moved.status !== 0) throw new Error(`taskset: ${moved.stderr || String(moved.error)}`)
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

export interface Answer {
  /** `Cache-Status`. */
  cacheStatus: string
  body: string
  /** Milliseconds until the whole answer. */
  took: number
}

/** Requests a page of the shop from a daemon, or purges. @throws Error unless the status is 200 */
export function ask({ port }: Daemon, path: string, { method = 'GET', headers = {} } = {}): Promise<Answer> {
  const began = performance.now()
  const fields = { Host: host, 'Accept-Encoding': 'gzip', ...headers }
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, agent, headers: fields }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => void parts.push(part))
      response.once('error', reject)
      response.once('end', () => {
        const body = Buffer.concat(parts).toString('latin1')
        if (response.statusCode !== 200)
          return reject(new Error(`${method} ${path}: ${response.statusCode} ${body.slice(0, 500)}`))
        resolve({ cacheStatus: String(response.headers['cache-status']), body, took: performance.now() - began })
      })
    })
    sent.once('error', reject)
    sent.end()
  })
}

/** Closes the connections that `ask` has kept. */
export function hangUp(): void {
  agent.destroy()
}
