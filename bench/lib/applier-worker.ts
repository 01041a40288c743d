/**
 * Program, run by `bench/cluster.ts`: nodes without visitors, each with its own connections and a store without pages.
 * Arguments: URL of the database, number of the first node, how many nodes. Sends a message once all have a lease; SIGTERM ends it.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Lease } from '../../src/cluster/lease.ts'
import type { NodeStoreOptions } from '../../src/cluster/node-store.ts'
import { runNode } from '../../src/cluster/run-node.ts'
import { openRecords } from '../../src/records/open.ts'
import { scratch } from '../../test/helpers/scratch.ts'
import { until } from '../../test/helpers/until.ts'

const [url, first, count] = process.argv.slice(2) as [string, string, string]
const { path, discard } = await scratch('appliers')
const pages = {
  remove: async () => 0,
  removeTogether: async (removals: readonly unknown[]) => removals.map(() => ({ urls: [], isWhole: true })),
  fence: () => ({ generation: 'none' }),
  fault: () => null,
  counters: () => ({}),
} as unknown as NodeStoreOptions['pages']

const stops: (() => Promise<void>)[] = []
for (let number = Number(first); number < Number(first) + Number(count); number += 1)
  stops.push(await startNode(number))
process.send!('ready')
process.once('SIGTERM', () => void stop())

async function startNode(number: number): Promise<() => Promise<void>> {
  // The directory identifies the store of a node.
  const directory = join(path, String(number))
  await mkdir(directory)
  const records = await openRecords({ directory, postgres: { url, listenUrl: null, pool: 1 }, now: Date.now })
  const { memory, reader } = new Lease()
  const [name, toMatcher] = [`node-${number}`, () => () => false]
  const setup = { memory, member: name, node: name, lease: 1000, alone: 0, version: '0', address: null }
  const node = await runNode({ ...records, leases: records.db }, setup, {
    directory,
    pages,
    toMatcher,
    oldestUnfinished: async () => null,
  })
  await until(() => reader.standing() === 'confirmed')
  return async () => {
    await node.stop()
    await records.close()
  }
}

async function stop(): Promise<void> {
  await Promise.all(stops.map((each) => each()))
  await discard()
  process.disconnect()
}
