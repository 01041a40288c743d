import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import manifest from '../../package.json' with { type: 'json' }
import type { RecordsDatabase } from '../records/schema.ts'
import type { PurgeClock } from './clock.ts'
import { Lease } from './lease.ts'
import type { Ledger } from './ledger.ts'
import { OutsideClock } from './outside-clock.ts'
import type { PurgeCluster } from './purge-cluster.ts'
import { RecentPurges } from './recent-purges.ts'
import type { NodeSetup } from './run-node.ts'

/** `cluster` in the configuration; durations in milliseconds. */
interface ClusterSettings {
  node: string | null
  mode: 'available' | 'strict'
  lease: number
  alone: number
}

/** This process as one of several that share a PostgreSQL database. */
export class ThisNode {
  readonly lease = new Lease()
  /** For the thread that keeps the lease. */
  readonly setup: NodeSetup

  constructor({ node, mode, lease, alone }: ClusterSettings) {
    const host = hostname()
      .replace(/[^\w.-]+/g, '-')
      .slice(0, 64)
    this.setup = {
      memory: this.lease.memory,
      member: randomUUID(),
      node: node ?? (host || 'node'),
      lease,
      alone: mode === 'strict' ? 0 : alone,
      version: manifest.version,
      address: null,
    }
  }

  /** Records where the daemon listens, for operators. */
  listensAt({ host, port }: { host: string; port: number }): void {
    const name = ['0.0.0.0', '::'].includes(host) ? hostname() : host
    this.setup.address = `http://${name.includes(':') ? `[${name}]` : name}:${port}`
  }

  /** The other nodes, for the purges of a process without a thread for them. */
  async purges(db: RecordsDatabase, directory: string): Promise<PurgeCluster> {
    const { openPurgeCluster } = await import('./purge-cluster.ts')
    return openPurgeCluster(db, directory, this.setup)
  }

  /** The purge clock for shared pages. `usesThreads`: whether this process serves visitors, and so keeps a lease. */
  async clock(host: { records(): Promise<{ db: RecordsDatabase }>; usesThreads: boolean }): Promise<PurgeClock> {
    const ledger: Pick<Ledger, 'read'> = {
      read: async (after) => {
        const { RecordsLedger } = await import('./records-ledger.ts')
        return new RecordsLedger((await host.records()).db).read(after)
      },
    }
    return host.usesThreads ? new RecentPurges(this.lease, ledger) : await OutsideClock.open(ledger)
  }
}
