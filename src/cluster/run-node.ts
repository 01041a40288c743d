import { setTimeout as sleep } from 'node:timers/promises'
import { PagecacheError } from '../errors.ts'
import { dayLength } from '../lib/moment.ts'
import type { Records } from '../records/records.ts'
import type { RecordsDatabase } from '../records/schema.ts'
import { Applier } from './applier.ts'
import { HintedPause } from './hinted-pause.ts'
import { Lease, readClocks } from './lease.ts'
import { nodeStore, storeId, type NodeStoreOptions } from './node-store.ts'
import { goneAfter } from './nodes.ts'
import { renewalsPerLease } from './protocol.ts'
import { prune } from './prune.ts'
import { RecordsLedger } from './records-ledger.ts'

/** A serving process as a member of the cluster. Its threads share the memory of the lease. */
export interface NodeSetup {
  memory: SharedArrayBuffer
  /** Unique to the process. */
  member: string
  /** Name of the machine. */
  node: string
  /** Durations in milliseconds. */
  lease: number
  alone: number
  /** Version of this program. */
  version: string
  /** The URL on which its daemon listens; null until it is known. */
  address: string | null
}

/** How often old purges are deleted, in milliseconds. */
const pruneInterval = 60_000
/** How long purges are kept after all nodes have applied them, in milliseconds: a daemon that was stopped goes on with its pages. */
const keepFor = dayLength
/** Maximum number of purges to keep. */
const most = 1_000_000

/** How long a start waits for the first lease, in milliseconds. Without it the shop is asked for every page. */
const startPatience = 3000

interface NodeRecords extends Pick<Records, 'db' | 'onPurge'> {
  /** A connection that nothing else uses: leases must be renewed in time, whatever other work waits for. */
  leases: RecordsDatabase
}

/** Applies the purges of other nodes and keeps the lease of this process. Resolves once it has its first lease, or after a while. */
export async function runNode(
  records: NodeRecords,
  { memory, member: id, node, lease: duration, alone, version, address }: NodeSetup,
  store: NodeStoreOptions,
): Promise<{ stop(): Promise<void> }> {
  const lease = new Lease(memory)
  const pause = new HintedPause()
  records.onPurge(() => pause.hint())
  const ledger = new RecordsLedger(records.leases, { version, address })
  const applier = new Applier({
    ledger,
    self: () => ({ id, node, store: storeId(store.directory), lease: duration, alone }),
    lease,
    store: nodeStore(store),
    clocks: readClocks,
    wait: (ms) => pause.wait(ms),
    sleep: (ms) => sleep(ms),
    onError(error) {
      // An unreachable database or a full disk: the lease ends, and the next step tries again.
      if (!(error instanceof PagecacheError)) setImmediate(() => throwIt(error))
    },
  })
  const running = applier.run()
  // Whatever fails now is done by the next round.
  const pruning = setInterval(() => void prune(records.db, { goneAfter, keepFor, most }).catch(() => {}), pruneInterval)
  pruning.unref()
  // Notices that the machine slept, even without visitors and while the database does not respond.
  const noticing = setInterval(() => void lease.standing(readClocks()), duration / renewalsPerLease)
  noticing.unref()
  const until = performance.now() + startPatience
  while (lease.standing(readClocks()) !== 'confirmed' && performance.now() < until) await sleep(5)
  return {
    async stop() {
      clearInterval(pruning)
      clearInterval(noticing)
      applier.stop()
      pause.hint()
      await running
    },
  }
}

/** Ends the thread with an error that nothing expects. Its process reports it and starts another one. */
function throwIt(error: unknown): never {
  throw error
}
