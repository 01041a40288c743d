import { randomUUID } from 'node:crypto'
import { prepare } from '../records/statements.ts'
import type { QueueMessageRow, QueueWorkerRow } from '../records/queue-rows.ts'
import type { Records } from '../records/open.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import { Completions } from './completions.ts'
import { DoubtfulLeases } from './doubtful-leases.ts'
import { findNext, findNextOfGroup } from './find-next.ts'
import type { ProcessIdentity } from '../lib/process-identity.ts'
import type { Membership, Message, NewWorker, Transport, WorkerPresence } from './queue.ts'
import {
  assertHeld,
  leaseLost,
  moveToFailed,
  putBack,
  putBackAfterCrash,
  putBackAll,
  removeIfHeld,
  type Held,
} from './settle.ts'

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

class RecordsMembership implements Membership {
  readonly id: string
  readonly #records: Records
  readonly #now: () => number
  readonly #worker: NewWorker
  readonly #completions: Completions
  /** Whether the last claim returned a message. */
  #found = false
  readonly #doubtful = new DoubtfulLeases()

  constructor(records: Records, now: () => number, id: string, worker: NewWorker) {
    this.id = id
    this.#records = records
    this.#now = now
    this.#worker = worker
    this.#completions = new Completions((work) => records.db.transaction().execute(work))
  }

  version(): string {
    return this.#records.hint()
  }

  async beat(): Promise<boolean> {
    const now = this.#now()
    const { numUpdatedRows } = await this.#records.db
      .updateTable('queue_workers')
      .set((expression) => ({ beat: expression('beat', '+', 1), seen_at: now }))
      .where('id', '=', this.id)
      .executeTakeFirstOrThrow()
    await this.#correctDelays(now)
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
      process: {
        host: row.host,
        bootId: row.boot_id,
        pidNamespace: row.pid_namespace,
        pid: row.pid,
        started: row.process_started,
      },
    }))
  }

  async takeOver(dead: Pick<WorkerPresence, 'id' | 'beat'>): Promise<boolean> {
    return this.#records.db.transaction().execute(async (transaction) => {
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
    await this.#doubtful.giveBack((held) => this.#giveBack(held))
    // A read takes no lock, and an idle worker finds nothing. After a successful claim there is likely another message: skip the read.
    if (!this.#found && !this.#completions.waiting && (await this.#find(this.#records.db, wanted)) === null) return []
    const claimed: Message[] = []
    const claim = this.#completions.commitWith(async (transaction) => {
      claimed.length = 0
      const left = new Map(wanted)
      while (claimed.length < most) {
        const id = await this.#find(transaction, left)
        const message = id === null ? null : await this.#lease(transaction, { id, lease: randomUUID() }, false)
        if (!message) return
        claimed.push(message)
        left.set(message.type, left.get(message.type)! - 1)
      }
    })
    await this.#doubtful.note(claimed, claim)
    this.#found = claimed.length > 0
    return claimed
  }

  async #find(db: RecordsDatabase, wanted: ReadonlyMap<string, number>): Promise<string | null> {
    const types = [...wanted].flatMap(([type, count]) => (count > 0 ? [type] : []))
    for (const transport of types.length === 0 ? [] : this.#worker.transports) {
      const id = await findNext(db, transport, types, this.#now())
      if (id !== null) return id
    }
    return null
  }

  async take(message: Message): Promise<Message | null> {
    const { transport, type, group } = message
    if (group === null) return null
    await this.#doubtful.giveBack((held) => this.#giveBack(held))
    for (;;) {
      const id = await findNextOfGroup(this.#records.db, { transport, type, group }, this.#now())
      if (id === null) return null
      const held = { id, lease: randomUUID() }
      const taken = await this.#doubtful.note([held], this.#lease(this.#records.db, held, true))
      if (taken) return taken
      if (await this.#isHeldByOthers(group)) return null
    }
  }

  /**
   * Leases a message in one statement; null if another worker was faster with it or with its group. `shared`: this worker may already
   * hold a message of the group.
   */
  async #lease(db: RecordsDatabase, held: Held, shared: boolean): Promise<Message | null> {
    const lease = { ...held, worker: this.id, now: this.#now() }
    const [row] = (await (shared ? leaseShared : leaseAlone)(db, lease)).rows
    return row ? toMessage(row) : null
  }

  #giveBack(held: Held, delay = 0): Promise<void> {
    return this.#settle(held, (transaction, row) => putBack(transaction, row, { now: this.#now(), delay }))
  }

  async #isHeldByOthers(group: string): Promise<boolean> {
    const held = await this.#records.db
      .selectFrom('queue_messages')
      .select('id')
      .where('group', '=', group)
      .where('lease', 'is not', null)
      .where('worker', '!=', this.id)
      .limit(1)
      .executeTakeFirst()
    return held !== undefined
  }

  async hold(transaction: RecordsTransaction, message: Message): Promise<void> {
    await assertHeld(transaction, message)
  }

  async complete(message: Message, transaction?: RecordsTransaction): Promise<void> {
    if (transaction === undefined) await this.#completions.add(message)
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
    await this.#records.db
      .transaction()
      .execute(async (transaction) => change(transaction, await assertHeld(transaction, held)))
  }

  async leave(): Promise<void> {
    await this.#records.db.transaction().execute(async (transaction) => {
      await putBackAll(transaction, this.id, this.#now())
      await transaction.deleteFrom('queue_workers').where('id', '=', this.id).execute()
    })
  }
}

interface NewLease {
  id: string
  lease: string
  worker: string
  now: number
}

const leaseAlone = prepare<NewLease, QueueMessageRow>((db, lease) => leaseUnlessHeld(db, lease, null))

const leaseShared = prepare<NewLease, QueueMessageRow>((db, lease) => leaseUnlessHeld(db, lease, lease.worker))

/** Leases a message unless a message of its group is held, by a worker other than `sharedWith`. */
function leaseUnlessHeld(db: RecordsDatabase, { id, lease, worker, now }: NewLease, sharedWith: string | null) {
  return db
    .updateTable('queue_messages')
    .set({ lease, worker, taken_at: now })
    .where('id', '=', id)
    .where('lease', 'is', null)
    .where(({ not, exists, selectFrom }) => {
      const held = selectFrom('queue_messages as held')
        .select('held.id')
        .whereRef('held.group', '=', 'queue_messages.group')
        .where('held.lease', 'is not', null)
      return not(exists(sharedWith === null ? held : held.where('held.worker', '!=', sharedWith)))
    })
    .returningAll()
}

function toMessage(row: QueueMessageRow): Message {
  return {
    id: row.id,
    transport: row.transport as Transport,
    type: row.type,
    payload: JSON.parse(row.payload) as unknown,
    group: row.group,
    key: row.key,
    attempts: row.attempts,
    createdAt: row.created_at,
    lease: row.lease!,
  }
}
