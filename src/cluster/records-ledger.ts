import { thisProcess } from '../lib/process-identity.ts'
import { lockingTransaction } from '../records/locks.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type {
  Ledger,
  Member,
  MemberDescription,
  MemberReport,
  MembersRead,
  MemberWrite,
  Purge,
  PurgesRead,
} from './ledger.ts'
import { readLimit } from './protocol.ts'
import type { Removal } from './removal.ts'
import { addRemoved } from './removed-pages.ts'
import { takeOver } from './take-over.ts'

/** Distance between the numbers of two histories of the database, larger than the number of purges that a failover can lose. */
const historyGap = 1_000_000

/** A purge to be numbered. */
export interface NewPurge {
  invalidation: number | null
  removals: readonly Removal[]
}

/**
 * Numbers purges in the transaction that records them, which locks the clock until it ends. Call it last.
 *
 * @returns the number of the first purge; the others follow
 */
export async function appendPurges(
  transaction: RecordsTransaction,
  { at, store, purges }: { at: number; store: string; purges: readonly NewPurge[] },
): Promise<{ first: number; identity: string }> {
  const advance = () =>
    transaction
      .updateTable('cluster_clock')
      .set((eb) => ({ number: eb('number', '+', purges.length) }))
      .returning('number')
      .executeTakeFirst()
  const { number } = (await advance()) ?? (await addClock(transaction).then(advance))!
  const first = number - purges.length + 1
  const rows = purges.map(({ invalidation, removals }, index) => {
    return { number: first + index, at, store, invalidation_id: invalidation, removals: JSON.stringify(removals) }
  })
  await transaction.insertInto('cluster_purges').values(rows).execute()
  return { first, identity: await identityOf(transaction) }
}

/** Adds the row of the clock, unless another process has. */
async function addClock(transaction: RecordsTransaction): Promise<void> {
  const identity = await identityOf(transaction)
  await transaction
    .insertInto('cluster_clock')
    .values({ id: 1, number: 0, floor: 0, history: identity, settled: identity })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

async function identityOf(db: RecordsDatabase): Promise<string> {
  return (await db.selectFrom('cluster_server').select('identity').executeTakeFirstOrThrow()).identity
}

const nothing: MemberReport = { removed: [], answer: null }

/** Details of a member for operators. `address`: the URL on which its daemon listens. */
export interface AboutMember {
  version: string
  address: string | null
}

/**
 * The database of the nodes in PostgreSQL. Each write is one statement, or is ordered by the lock of the clock, so that READ COMMITTED
 * suffices: nothing is ever repeated because of another node's write (docs/decisions/0117-purge-numbers.md).
 */
export class RecordsLedger implements Ledger {
  readonly #db: RecordsDatabase
  readonly #about: AboutMember

  constructor(db: RecordsDatabase, about: AboutMember = { version: '', address: null }) {
    this.#db = db
    this.#about = about
  }

  async read(after: number): Promise<PurgesRead> {
    // One statement sees one moment: no purge is deleted between the look at the floor and the look at the purges.
    const rows = await this.#db
      .selectFrom('cluster_server as server')
      .leftJoin('cluster_purges as purge', (join) => join.on('purge.number', '>', after))
      .select(['server.identity', 'purge.number', 'purge.store', 'purge.removals'])
      // As joins they would multiply the estimated number of rows, and the server would compile the statement at each execution.
      .select((eb) => [
        eb.selectFrom('cluster_clock').select('number').as('last'),
        eb.selectFrom('cluster_clock').select('floor').as('floor'),
        eb.selectFrom('cluster_questions').select('number').as('question'),
      ])
      .orderBy('purge.number')
      .limit(readLimit)
      .execute()
    const { identity, last, floor, question } = rows[0]!
    const purges = rows.flatMap(({ number, store, removals }): Purge[] =>
      number === null ? [] : [{ number, store: store!, removals: JSON.parse(removals!) as Removal[] }],
    )
    return { identity, last: last ?? 0, floor: floor ?? 0, question: question ?? 0, purges }
  }

  async join({ identity, id, confirmed: _confirmed, ...member }: MemberDescription & MemberWrite): Promise<void> {
    await this.#transaction(async (transaction) => {
      if ((await identityOf(transaction)) !== identity) return
      const now = await nowOf(transaction)
      const self = thisProcess()
      await takeOver(transaction, { ...member, id }, self, now)
      const about = { ...this.#about, process: JSON.stringify(self), replaced: 0 }
      const row = { ...member, ...about, state: 'joining' as const, seen_at: now, marked_at: now }
      await transaction
        .insertInto('cluster_members')
        .values({ ...row, id, since: now })
        .onConflict((conflict) =>
          conflict.column('id').doUpdateSet(row).where('cluster_members.renewal', '<', member.renewal),
        )
        .execute()
    })
  }

  async renew(
    write: MemberWrite,
    { removed, answer }: MemberReport = nothing,
  ): Promise<'renewed' | 'suspect' | 'lost'> {
    return this.#transaction(async (transaction) => {
      // In the same transaction, so a purge that sees the position also sees the counts.
      if (removed.length > 0) await addRemoved(transaction, write.id, removed)
      const { numUpdatedRows } = await this.#update(transaction, write)
        .$if(answer !== null, (update) => update.set({ answered: answer!.question, statistics: answer!.statistics }))
        .where('state', '=', 'live')
        .executeTakeFirstOrThrow()
      if (numUpdatedRows > 0n) return 'renewed'
      const known = await transaction
        .selectFrom('cluster_members')
        .select('id')
        .where('id', '=', write.id)
        .where('renewal', '>=', write.confirmed)
        .where('renewal', '<', write.renewal)
        .executeTakeFirst()
      return known !== undefined && (await identityOf(transaction)) === write.identity ? 'suspect' : 'lost'
    })
  }

  async admit(write: MemberWrite): Promise<{ barrier: number } | 'lost'> {
    return this.#transaction(async (transaction) => {
      const lock = () => transaction.selectFrom('cluster_clock').selectAll().forUpdate().executeTakeFirst()
      const clock = (await lock()) ?? (await addClock(transaction).then(lock))!
      const identity = await identityOf(transaction)
      if (identity !== write.identity || write.position < clock.floor) return 'lost'
      const barrier =
        clock.history === identity ? clock.number : await beginHistory(transaction, clock.number, identity)
      const { numUpdatedRows } = await this.#update(transaction, write).set('state', 'live').executeTakeFirstOrThrow()
      return numUpdatedRows > 0n ? { barrier } : 'lost'
    })
  }

  /** Writes a member's position, if the database is the one that it knows and has its last write. */
  #update(transaction: RecordsTransaction, { id, identity, position, confirmed, renewal }: MemberWrite) {
    return transaction
      .updateTable('cluster_members')
      .set((eb) => ({ position, renewal, replaced: 0, seen_at: eb.selectFrom('cluster_server').select('now') }))
      .where('id', '=', id)
      .where('renewal', '>=', confirmed)
      .where('renewal', '<', renewal)
      .where((eb) => eb(eb.selectFrom('cluster_server').select('identity'), '=', identity))
  }

  async members(): Promise<MembersRead> {
    const rows = await this.#db
      .selectFrom('cluster_server as server')
      .leftJoin('cluster_clock as clock', (join) => join.onTrue())
      .leftJoin('cluster_members as member', (join) => join.onTrue())
      .select(['server.identity', 'server.now', 'clock.settled'])
      .select(['member.id', 'member.node', 'member.store', 'member.state', 'member.position', 'member.renewal'])
      .select(['member.lease', 'member.alone', 'member.marked_at', 'member.replaced'])
      .execute()
    const { identity, settled } = rows[0]!
    const members = rows.flatMap(
      ({ id, now, marked_at, replaced, identity: _identity, settled: _settled, ...row }): Member[] => {
        if (id === null) return []
        const suspectFor = row.state === 'suspect' ? now - marked_at! : 0
        return [
          { ...(row as Omit<Member, 'id' | 'isReplaced' | 'suspectFor'>), id, suspectFor, isReplaced: replaced === 1 },
        ]
      },
    )
    return { identity, isSettled: settled === identity, members }
  }

  async settle(identity: string): Promise<void> {
    await this.#transaction(async (transaction) => {
      if ((await identityOf(transaction)) === identity)
        await transaction.updateTable('cluster_clock').set({ settled: identity }).execute()
    })
  }

  async suspect(id: string, renewal: number): Promise<boolean> {
    return this.#transaction(async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('cluster_members')
        .set((eb) => ({ state: 'suspect', marked_at: eb.selectFrom('cluster_server').select('now') }))
        .where('id', '=', id)
        .where('renewal', '=', renewal)
        .where('state', '=', 'live')
        .executeTakeFirstOrThrow()
      return numUpdatedRows > 0n
    })
  }

  async leave(id: string, renewal: number): Promise<void> {
    await this.#transaction((transaction) =>
      transaction.deleteFrom('cluster_members').where('id', '=', id).where('renewal', '<', renewal).execute(),
    )
  }

  /** Number of a recorded purge; null where it was deleted because all nodes have applied it. */
  async numberOf(invalidation: number): Promise<{ number: number; identity: string } | null> {
    const found = await this.#db
      .selectFrom('cluster_purges')
      .innerJoin('cluster_server', (join) => join.onTrue())
      .select(['cluster_purges.number', 'cluster_server.identity'])
      .where('invalidation_id', '=', invalidation)
      .executeTakeFirst()
    return found ?? null
  }

  /** The lowest number of these invalidations; null for none. */
  async oldestOf(invalidations: readonly number[]): Promise<number | null> {
    const found = await this.#db
      .selectFrom('cluster_purges')
      .select('number')
      .where('invalidation_id', 'in', invalidations)
      .orderBy('number')
      .executeTakeFirst()
    return found?.number ?? null
  }

  #transaction<T>(work: (transaction: RecordsTransaction) => Promise<T>): Promise<T> {
    return lockingTransaction(this.#db).execute(work)
  }
}

export async function nowOf(db: RecordsDatabase): Promise<number> {
  return (await db.selectFrom('cluster_server').select('now').executeTakeFirstOrThrow()).now
}

/**
 * Begins another history after a failover, which may have lost purges: all pages are removed, and the numbers go on far behind those of
 * the lost purges, so that a page fetched before counts as outdated everywhere.
 */
async function beginHistory(transaction: RecordsTransaction, last: number, identity: string): Promise<number> {
  const number = last + historyGap
  await transaction.updateTable('cluster_clock').set({ number, history: identity }).execute()
  const everything: readonly Removal[] = [{ kind: 'all' }]
  await transaction
    .insertInto('cluster_purges')
    .values({
      number,
      at: await nowOf(transaction),
      store: '',
      invalidation_id: null,
      removals: JSON.stringify(everything),
    })
    .execute()
  return number
}
