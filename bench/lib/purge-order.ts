import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { openPurgeCluster } from '../../src/cluster/purge-cluster.ts'
import type { Removal } from '../../src/cluster/removal.ts'
import { lockingTransaction } from '../../src/records/locks.ts'
import { openRecords } from '../../src/records/open.ts'
import { newDatabase } from '../../test/helpers/postgres.ts'
import { scratch } from '../../test/helpers/scratch.ts'
import { startDurablePostgres } from './cluster-place.ts'

/** How fast one counter row orders purges. */
export interface Ordered {
  /** Transactions at the same time. */
  writers: number
  /** Purges in a transaction. */
  group: number
  perSecond: number
  /** Transactions per second ÷ those of one connection that only increments the counter. */
  ratio: number
}

/** Appends purges as daemons do, without waiting for nodes; alternates with bare increments of the same row. */
export async function measureOrder(seconds: number): Promise<Ordered[]> {
  const server = await startDurablePostgres()
  const { path, discard } = await scratch('purge-order')
  const url = await newDatabase(server)
  const records = await openRecords({ directory: path, postgres: { url, listenUrl: null, pool: 16 }, now: Date.now })
  const cluster = openPurgeCluster(records.db, path, { node: 'bench', lease: 1000 })
  const append = (group: number) => {
    const removals = (): readonly Removal[] => [{ kind: 'tags', tags: [`tag-${Math.random()}`] }]
    const purges = Array.from({ length: group }, () => ({ invalidation: null, removals: removals() }))
    return lockingTransaction(records.db).execute((transaction) => cluster.append(transaction, Date.now(), purges))
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const bare = () =>
    client.query({ name: 'bare', text: 'update cluster_clock set number = number + 1 returning number' })
  const rate = async (writers: number, work: () => Promise<unknown>, duration = seconds * 1000) => {
    let [count, isOver] = [0, false]
    const write = async () => {
      for (; !isOver; count += 1) await work()
    }
    const began = performance.now()
    const writing = Array.from({ length: writers }, write)
    await pause(duration)
    isOver = true
    await Promise.all(writing)
    return (count / (performance.now() - began)) * 1000
  }
  const measured: Ordered[] = []
  await rate(3, () => append(16), 1000)
  for (const [writers, group] of [1, 3, 16].flatMap((each) => [1, 16, 64].map((size) => [each, size] as const))) {
    const transactions = await rate(writers, () => append(group))
    const floor = await rate(1, bare, 1000)
    measured.push({ writers, group, perSecond: transactions * group, ratio: transactions / floor })
  }
  await client.end()
  await records.close()
  await Promise.all([server.stop(), discard()])
  return measured
}

export function printOrder(measured: readonly Ordered[]): void {
  const whole = (value: number) => Math.round(value).toLocaleString('en')
  console.log('\n| writers | purges in a transaction | purges per second | transactions per second | ÷ bare commits |')
  console.log('|---|---|---|---|---|')
  for (const { writers, group, perSecond, ratio } of measured)
    console.log(`| ${writers} | ${group} | ${whole(perSecond)} | ${whole(perSecond / group)} | ${ratio.toFixed(2)} |`)
}
