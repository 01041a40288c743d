import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { openPurgeCluster } from '../../src/cluster/purge-cluster.ts'
import type { Removal } from '../../src/cluster/removal.ts'
import { lockingTransaction } from '../../src/records/locks.ts'
import { openRecords } from '../../src/records/open.ts'
import { newDatabase, type PostgresServer } from '../../test/helpers/postgres.ts'
import { scratch } from '../../test/helpers/scratch.ts'
import { startDurablePostgres } from './cluster-place.ts'
import { processorTime } from './cores.ts'
import { median, percentile } from './statistics.ts'

/** The load of nodes on PostgreSQL. */
interface ServerLoad {
  /** Per second. */
  statements: number
  /** How often a process of the server was woken up, per second. */
  wakeUps: number
  /** Cores in use. */
  cores: number
}

/** Many nodes without visitors. */
export interface Crowd {
  nodes: number
  idle: ServerLoad
  /** Purges one after another, each until all nodes have applied it, in milliseconds. */
  purge: { median: number; last: number; statements: number; cpu: number }
  /** Purges in groups of 16 by three purgers at the same time, per second. */
  together: number
  cores: number
}

const processes = 3
const [singles, group, purgers] = [60, 16, 3]

export async function measureAppliers(sizes: readonly number[], seconds: number): Promise<Crowd[]> {
  const server = await startDurablePostgres({ shared_preload_libraries: 'pg_stat_statements', max_connections: '400' })
  try {
    const measured: Crowd[] = []
    for (const nodes of sizes) measured.push(await measureCrowd(server, nodes, seconds))
    return measured
  } finally {
    await server.stop()
  }
}

async function measureCrowd(server: PostgresServer, nodes: number, seconds: number): Promise<Crowd> {
  const url = await newDatabase(server)
  const watch = new pg.Client({ connectionString: url })
  await watch.connect()
  await watch.query('create extension if not exists pg_stat_statements')
  const purger = await openPurger(url, nodes)
  const stopAppliers = await startAppliers(url, nodes)
  // Each has read the purges before it.
  await purger.purge(1)
  const idle = await serverLoad(watch, () => pause(seconds * 1000))
  const times: number[] = []
  const one = await serverLoad(watch, async () => {
    for (let count = 0; count < singles; count += 1) times.push(await purger.purge(1))
  })
  let done = 0
  const all = await serverLoad(watch, async () => {
    const end = performance.now() + seconds * 1000
    const work = async () => {
      for (; performance.now() < end; done += group) await purger.purge(group)
    }
    await Promise.all(Array.from({ length: purgers }, work))
  })
  await stopAppliers()
  await Promise.all([watch.end(), purger.close()])
  const perPurge = (perSecond: number) => (perSecond * one.seconds) / singles
  return {
    nodes,
    idle,
    purge: {
      median: median(times),
      last: percentile(times, 99),
      statements: perPurge(one.statements - idle.statements),
      cpu: perPurge(one.cores - idle.cores) * 1000,
    },
    together: done / all.seconds,
    cores: all.cores,
  }
}

async function openPurger(url: string, nodes: number) {
  const { path, discard } = await scratch('crowd')
  const records = await openRecords({ directory: path, postgres: { url, listenUrl: null, pool: 4 }, now: Date.now })
  const cluster = openPurgeCluster(records.db, path, { node: 'purger', lease: 1000 })
  const newPurge = () => {
    const removal: Removal = { kind: 'tags', tags: [`tag-${Math.random()}`] }
    return { invalidation: null, removals: [removal] }
  }
  return {
    /** Purges this many tags in one transaction. Returns the milliseconds until all nodes have applied the purges. */
    async purge(count: number): Promise<number> {
      const began = performance.now()
      const purges = Array.from({ length: count }, newPurge)
      const numbered = await lockingTransaction(records.db).execute((transaction) =>
        cluster.append(transaction, Date.now(), purges),
      )
      const { live } = await cluster.confirm(numbered.at(-1)!)
      if (live.length !== nodes) throw new Error(`${live.length} of ${nodes} nodes are live`)
      return performance.now() - began
    },
    async close() {
      await records.close()
      await discard()
    },
  }
}

async function startAppliers(url: string, nodes: number): Promise<() => Promise<void>> {
  const program = fileURLToPath(new URL('applier-worker.ts', import.meta.url))
  const counts = Array.from({ length: processes }, (_, index) => Math.floor((nodes + index) / processes))
  const children = await Promise.all(
    counts.map(async (count, index) => {
      const first = counts.slice(0, index).reduce((sum, each) => sum + each, 0)
      const child = fork(program, [url, String(first), String(count)])
      const failed = once(child, 'exit').then(() => {
        throw new Error('The appliers could not be started')
      })
      await Promise.race([once(child, 'message'), failed])
      failed.catch(() => {})
      return child
    }),
  )
  return async () => {
    await Promise.all(
      children.map(async (child) => {
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        await ended
      }),
    )
  }
}

/** The load on the server while some work is done. Connections that end meanwhile are not counted. */
async function serverLoad(client: pg.Client, work: () => Promise<unknown>): Promise<ServerLoad & { seconds: number }> {
  const before = await readings(client)
  await work()
  const after = await readings(client)
  const seconds = (after.at - before.at) / 1000
  const grown = (key: 'cpu' | 'wakeUps') => {
    const known = [...after.processes].filter(([pid]) => before.processes.has(pid))
    return known.reduce((sum, [pid, each]) => sum + each[key] - before.processes.get(pid)![key], 0) / seconds
  }
  const statements = (after.statements - before.statements) / seconds
  return { seconds, statements, wakeUps: grown('wakeUps'), cores: grown('cpu') }
}

async function readings(client: pg.Client) {
  const at = performance.now()
  const { rows } = await client.query<{ statements: string; pids: number[] }>(
    `select (select sum(calls) from pg_stat_statements) statements,
      (select array_agg(pid) from pg_stat_activity where pid <> pg_backend_pid()) pids`,
  )
  const { statements, pids } = rows[0]!
  const read = (pid: number) => {
    const switches = /^voluntary_ctxt_switches:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return { cpu: processorTime(pid), wakeUps: Number(switches?.[1]) }
  }
  return { at, statements: Number(statements), processes: new Map(pids.map((pid) => [pid, read(pid)])) }
}

export function printAppliers(crowds: readonly Crowd[]): void {
  const whole = (value: number) => Math.round(value).toLocaleString('en')
  console.log(
    '\n| nodes | idle: statements per second | wake-ups per second | cores | purge, median | 99th percentile | statements | CPU of PostgreSQL | purges per second in groups | cores |\n|---|---|---|---|---|---|---|---|---|---|',
  )
  for (const { nodes, idle, purge, together, cores } of crowds)
    console.log(
      `| ${nodes} | ${whole(idle.statements)} | ${whole(idle.wakeUps)} | ${idle.cores.toFixed(2)} | ${purge.median.toFixed(1)} ms | ${purge.last.toFixed(0)} ms | ${whole(purge.statements)} | ${purge.cpu.toFixed(0)} ms | ${whole(together)} | ${cores.toFixed(2)} |`,
    )
}
