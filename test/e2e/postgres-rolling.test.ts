import { inject, expect, it, onTestFinished } from 'vitest'
import { buildNext, buildPrevious, nextVersion } from '../helpers/builds.ts'
import { freePort, runProgram, startDaemon, type Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin } from '../helpers/origin.ts'
import { execute } from '../helpers/postgres.ts'
import { scratch } from '../helpers/scratch.ts'
import { until } from '../helpers/until.ts'

const pages = 4

/** A shop whose pages have versions. A version is promised when the purge of the one before was answered. */
async function startShop() {
  const versions = Array<number>(pages).fill(1)
  const promised = Array<number>(pages).fill(1)
  const origin = await startOrigin({
    otherwise: ({ path }) => {
      const page = Number(path.slice(2))
      const headers = { 'content-type': 'text/plain', 'cache-control': 'public, s-maxage=3600', xkey: `p${page}` }
      return { headers, body: String(versions[page]) }
    },
  })
  onTestFinished(() => origin.stop())
  return { origin, versions, promised }
}

/** Visitors and purges while nodes are replaced. Only nodes in `up` get them, as a load balancer would do. */
class Traffic {
  readonly up = new Map<string, Daemon>()
  readonly hits = new Map<string, number>()
  readonly faults: string[] = []
  purged = 0
  /** Purges that had to be repeated, and may be in the log more than once. */
  repeated = 0
  readonly #shop: Awaited<ReturnType<typeof startShop>>
  readonly #running: Promise<void>[] = []
  #isOver = false
  readonly #busy = new Map<string, number>()

  constructor(shop: Awaited<ReturnType<typeof startShop>>) {
    this.#shop = shop
    for (const work of [() => this.#read(), () => this.#read(), () => this.#purge()])
      this.#running.push(this.#loop(work))
  }

  /** Takes a node out, and waits for its requests in progress. */
  async takeOut(name: string): Promise<void> {
    this.up.delete(name)
    await until(() => (this.#busy.get(name) ?? 0) === 0)
  }

  /** Waits until each node was read from its cache, and purges were answered, after this moment. */
  async goesOn(): Promise<void> {
    const [before, hits] = [this.purged, new Map(this.hits)]
    await until(() => this.purged >= before + 5 && [...this.up.keys()].every((name) => this.#isPast(name, hits)))
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }

  #isPast(name: string, earlier: ReadonlyMap<string, number>): boolean {
    return (this.hits.get(name) ?? 0) >= (earlier.get(name) ?? 0) + 3
  }

  async #loop(work: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await work().catch((error: unknown) => this.faults.push(String(error)))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async #on<T>(work: (daemon: Daemon, name: string) => Promise<T>): Promise<T | null> {
    await until(() => this.#isOver || this.up.size > 0)
    const names = [...this.up.keys()]
    const name = names[Math.floor(Math.random() * names.length)]
    if (name === undefined) return null
    this.#busy.set(name, (this.#busy.get(name) ?? 0) + 1)
    try {
      return await work(this.up.get(name)!, name)
    } finally {
      this.#busy.set(name, this.#busy.get(name)! - 1)
    }
  }

  async #read(): Promise<void> {
    const page = Math.floor(Math.random() * pages)
    const least = this.#shop.promised[page]!
    await this.#on(async (daemon, name) => {
      const { status, headers, body } = await exchange(`${daemon.url}/p${page}`)
      const version = Number(body.toString())
      if (status !== 200) this.faults.push(`${name} answered ${status}`)
      else if (!(version >= least)) this.faults.push(`${name} served version ${version} of page ${page} after ${least}`)
      if (headers.get('cache-status')?.includes('; hit')) this.hits.set(name, (this.hits.get(name) ?? 0) + 1)
    })
  }

  async #purge(): Promise<void> {
    const page = Math.floor(Math.random() * pages)
    const version = (this.#shop.versions[page]! += 1)
    for (let isDone = false; !isDone && !this.#isOver;) {
      const status = await this.#on(async (daemon) => {
        const headers = { xkey: `p${page}` }
        return (await exchange(`${daemon.url}/`, { method: 'PURGE', headers })).status
      })
      isDone = status === 200
      if (isDone) this.#shop.promised[page] = version
      else if (status === 503) this.repeated += 1
      else if (status !== null) this.faults.push(`a purge was answered ${status}`)
    }
    this.purged += 1
    // Visitors get hits in between.
    const seen = [...this.hits.values()].reduce((sum, count) => sum + count, 0)
    await until(() => this.#isOver || [...this.hits.values()].reduce((sum, count) => sum + count, 0) > seen + 2)
  }
}

it('nodes are replaced by those of the next version one by one, while visitors read and pages are purged', async () => {
  const server = inject('postgres')!
  const database = `rolling_${process.env['VITEST_POOL_ID']}`
  await execute(server, `drop database if exists ${database} with (force)`)
  await execute(server, `create database ${database}`)
  onTestFinished(async () => void (await execute(server, `drop database ${database} with (force)`)))
  const url = server.replace('/postgres?', `/${database}?`)
  const env = { PAGECACHE_RECORDS_URL: url }
  const [previous, next] = [await buildPrevious(), await buildNext()]
  onTestFinished(async () => void (await Promise.all([previous.discard(), next.discard()])))
  const shop = await startShop()
  const [directories, ports] = [new Map<string, string>(), new Map<string, number>()]
  const start = async (node: string, { program }: { program: string }) => {
    if (!directories.has(node)) {
      const { path, discard } = await scratch(node)
      onTestFinished(discard)
      directories.set(node, path)
      ports.set(node, await freePort())
    }
    const daemon = await startDaemon({
      program,
      projectDir: directories.get(node)!,
      args: ['--origin', shop.origin.url],
      port: ports.get(node)!,
      config: { cluster: { node, mode: 'strict' }, purgers: ['127.0.0.0/8'] },
      env,
    })
    onTestFinished(async () => void (await daemon.stop()))
    return daemon
  }
  const run = (program: string, ...args: string[]) =>
    runProgram(args, { program, env, projectDir: directories.get('one')! })

  const old = new Map([
    ['one', await start('one', previous)],
    ['two', await start('two', previous)],
  ])
  const traffic = new Traffic(shop)
  for (const [name, daemon] of old) traffic.up.set(name, daemon)
  await traffic.goesOn()

  // Before the migration, a node of the next version refuses to start and changes nothing.
  const early = await run(next.program, 'serve', '--origin', shop.origin.url, '--port', '0')
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('pagecache records:migrate')])
  const migrated = await run(next.program, 'records:migrate', '--json')
  const { from, to } = JSON.parse(migrated.stdout) as { from: number; to: number }
  expect(to).toBeGreaterThan(from)
  await traffic.goesOn()
  // From now on, a node of the earlier version cannot start again.
  const late = await run(previous.program, 'serve', '--origin', shop.origin.url, '--port', '0')
  expect([late.code, late.stderr]).toEqual([1, expect.stringContaining(nextVersion)])

  for (const [name, daemon] of old) {
    await traffic.takeOut(name)
    expect(await daemon.stop()).toBe(0)
    traffic.up.set(name, await start(name, next))
    await traffic.goesOn()
  }
  await traffic.end()
  expect(traffic.faults).toEqual([])
  const count = `select count(*)::int as count, sum(next_column)::int as sum from invalidations`
  const { rows } = await execute(url, count)
  expect(rows[0].count).toBeGreaterThanOrEqual(traffic.purged - 1)
  expect(rows[0].count).toBeLessThanOrEqual(traffic.purged + traffic.repeated)
  expect(rows[0].sum).toBe(rows[0].count * 7)
})
