import { randomUUID } from 'node:crypto'
import { lockingTransaction, unsyncedTransaction } from '../records/locks.ts'
import type { QueueMessageRow, QueueWorkerRow } from '../records/queue-rows.ts'
import type { Records } from '../records/open.ts'
import type { RecordsTransaction } from '../records/schema.ts'
import { Completions } from './completions.ts'
import { hasNext, hasNextOfGroup, lockNext, lockNextOfGroup, nextDue } from './find-next.ts'
import { GrantedLeases } from './granted-leases.ts'
import { leaseMessages, newLease } from './lease.ts'
import type { ProcessIdentity } from '../lib/process-identity.ts'
import type { Membership, Message, NewWorker, WorkerPresence } from './queue.ts'
import {
  assertHeld,
  leaseLost,
  leasesOf,
  moveToFailed,
  putBack,
  putBackAfterCrash,
  putBackAll,
  removeIfHeld,
  type Held,
} from './settle.ts'

/** How often an idle worker looks for messages in any case (milliseconds): the wall clock may jump to where a delayed message is due. */
const claimInterval = 5000
/** How often an idle worker looks in a database of several machines (milliseconds): notifications may be lost. */
const sharedInterval = 250

/** How much clocks of one machine may differ (milliseconds). */
const clockTolerance = 1000

/** Registers a worker in the records. `now` is the wall clock in milliseconds since the epoch, which all processes of a machine share. */
export async function joinRecords(
  records: Records,
  now: () => number,
  process: ProcessIdentity,
  worker: NewWorker,
): Promise<Membership> {
  const { id = randomUUID() } = worker
  const row: QueueWorkerRow = {
    id,
    host: process.host,
    boot_id: process.bootId,
    pid_namespace: process.pidNamespace,
    pid: process.pid,
    process_started: process.started,
    kind: worker.kind,
    transports: JSON.stringify(worker.transports),
    types: JSON.stringify(worker.types),
    started_at: now(),
    seen_at: now(),
    beat: 0,
    stopping: 0,
  }
  await records.db
    .insertInto('queue_workers')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
  return new RecordsMembership(records, now, id, worker)
}

/** The process of a worker. */
export function toIdentity(row: QueueWorkerRow): ProcessIdentity {
  return {
    host: row.host,
    bootId: row.boot_id,
    pidNamespace: row.pid_namespace,
    pid: row.pid,
    started: row.process_started,
  }
}

class RecordsMembership implements Membership {
  readonly id: string
  readonly #records: Records
  readonly #now: () => number
  readonly #worker: NewWorker
  readonly #completions: Completions
  /** Whether the last claim returned a message. */
  #found = false
  readonly #leases = new GrantedLeases()

  constructor(records: Records, now: () => number, id: string, worker: NewWorker) {
    this.id = id
    this.#records = records
    this.#now = now
    this.#worker = worker
    this.#completions = new Completions((work) => unsyncedTransaction(records.db).execute(work))
  }

  version(): string {
    return this.#records.hint()
  }

  watch(listener: () => void): (() => void) | null {
    return this.#records.watch(listener)
  }

  async untilDue(): Promise<number> {
    if (this.#records.isShared) return sharedInterval
    const now = this.#now()
    const { rows } = await nextDue(this.#records.db, { now })
    return Math.min(rows.length === 0 ? Infinity : rows[0]!.available_at - now, claimInterval)
  }

  async beat(): Promise<boolean> {
    const now = this.#now()
    const { numUpdatedRows } = await this.#records.db
      .updateTable('queue_workers')
      .set((expression) => ({ beat: expression('beat', '+', 1), seen_at: now }))
      .where('id', '=', this.id)
      .executeTakeFirstOrThrow()
    await this.#correctDelays(now)
    await this.#giveBackUnknown()
    return numUpdatedRows === 1n
  }

  /** Makes messages due that a process whose clock is ahead has delayed: too early is better than hours late. */
  async #correctDelays(now: number): Promise<void> {
    const jumped = await this.#records.db
      .selectFrom('queue_messages')
      .select('id')
      .where('lease', 'is', null)
      .where('available_at', '>', now + clockTolerance)
      .where((where) => where('available_at', '>', where('delay', '+', now + clockTolerance)))
      .limit(500)
      .execute()
    if (jumped.length === 0) return
    const ids = jumped.map(({ id }) => id)
    await this.#records.db
      .updateTable('queue_messages')
      .set({ available_at: now, delay: 0 })
      .where('id', 'in', ids)
      .where('lease', 'is', null)
      .execute()
  }

  async listWorkers(): Promise<WorkerPresence[]> {
    const rows = await this.#records.db.selectFrom('queue_workers').selectAll().execute()
    return rows.map((row) => ({
      id: row.id,
      beat: row.beat,
      stopping: row.stopping === 1,
      process: toIdentity(row),
    }))
  }

  async takeOver(dead: Pick<WorkerPresence, 'id' | 'beat'>): Promise<boolean> {
    // Waits for a claim of that worker, and sees it then.
    return lockingTransaction(this.#records.db).execute(async (transaction) => {
      const { numDeletedRows } = await transaction
        .deleteFrom('queue_workers')
        .where('id', '=', dead.id)
        .where('beat', '=', dead.beat)
        .executeTakeFirstOrThrow()
      if (numDeletedRows === 0n) return false
      await putBackAfterCrash(transaction, dead.id, this.#now())
      return true
    })
  }

  async claim(wanted: ReadonlyMap<string, number>, most: number): Promise<Message[]> {
    await this.#giveBackDoubtful()
    // A read takes no lock, and an idle worker finds nothing. After a successful claim there is likely another message: skip the read.
    if (!this.#found && !this.#completions.waiting && !(await this.#hasNext(wanted))) return []
    const claimed = await this.#leases.grant(
      (work) => this.#completions.commitWith(work),
      async (transaction) => {
        for (const transport of this.#worker.transports) {
          const due = await lockNext(transaction, { transport, wanted, now: this.#now(), most })
          if (due.length > 0) return this.#lease(transaction, due, newLease())
        }
        return []
      },
    )
    this.#found = claimed.length > 0
    return claimed
  }

  async #giveBackDoubtful(): Promise<void> {
    if (this.#leases.isDoubtful) await this.#giveBackUnknown()
  }

  async #giveBackUnknown(): Promise<void> {
    await this.#leases.giveBackUnknown(
      async () => (await leasesOf(this.#records.db, { worker: this.id })).rows,
      (held) => this.#giveBack(held),
    )
  }

  async #hasNext(wanted: ReadonlyMap<string, number>): Promise<boolean> {
    for (const transport of this.#worker.transports)
      if (await hasNext(this.#records.db, transport, wanted, this.#now())) return true
    return false
  }

  async take({ transport, type, group, lease }: Message): Promise<Message | null> {
    if (group === null) return null
    await this.#giveBackDoubtful()
    const query = { transport, type, group, now: this.#now() }
    if (!(await hasNextOfGroup(this.#records.db, query))) return null
    const [taken = null] = await this.#leases.grant(
      (work) => unsyncedTransaction(this.#records.db).execute(work),
      async (transaction) => {
        const id = await lockNextOfGroup(transaction, query)
        return id === null ? [] : this.#lease(transaction, [id], newLease(lease))
      },
    )
    return taken
  }

  #lease(transaction: RecordsTransaction, ids: readonly string[], lease: string): Promise<Message[]> {
    return leaseMessages(transaction, ids, { lease, worker: this.id, now: this.#now() })
  }

  #giveBack(held: Held, delay = 0): Promise<void> {
    return this.#settle(held, (transaction, row) => putBack(transaction, row, { now: this.#now(), delay }))
  }

  async hold(transaction: RecordsTransaction, message: Message): Promise<void> {
    await assertHeld(transaction, message)
  }

  async complete(message: Message, transaction?: RecordsTransaction): Promise<void> {
    if (transaction === undefined) await this.#leases.settle(message, this.#completions.add(message))
    else if (!(await removeIfHeld(transaction, message))) throw leaseLost(message.id)
  }

  async release(message: Message, delay: number): Promise<void> {
    await this.#giveBack(message, delay)
  }

  async retry(message: Message, delay: number, error: string): Promise<void> {
    await this.#settle(message, (transaction, row) =>
      putBack(transaction, row, { now: this.#now(), delay, attempts: row.attempts + 1, crashes: 0, last_error: error }),
    )
  }

  async fail(message: Message, error: string, attempts = message.attempts + 1): Promise<void> {
    await this.#settle(message, (transaction, row) =>
      moveToFailed(transaction, row, { now: this.#now(), attempts, crashes: 0, error }),
    )
  }

  async #settle(
    held: Held,
    change: (transaction: RecordsTransaction, row: QueueMessageRow) => Promise<void>,
  ): Promise<void> {
    const { db } = this.#records
    const settling = db
      .transaction()
      .execute(async (transaction) => change(transaction, await assertHeld(transaction, held)))
    await this.#leases.settle(held, settling)
  }

  async leave(): Promise<void> {
    await this.#records.db.transaction().execute(async (transaction) => {
      await putBackAll(transaction, this.id, this.#now())
      await transaction.deleteFrom('queue_workers').where('id', '=', this.id).execute()
    })
  }
}
