import { withLocks } from '../records/locks.ts'
import { prepare } from '../records/statements.ts'
import type { RecordsDatabase, RecordsTransaction } from '../records/schema.ts'
import type { Transport } from './queue.ts'

/** A due message. Of several, the one that has been due longest comes first. */
interface Due {
  id: string
  type: string
  group: string | null
  available_at: number
}

/** Whether a transport has a due message of one of the types whose group no worker holds. `now` is milliseconds since the epoch. */
export async function hasNext(
  db: RecordsDatabase,
  transport: Transport,
  wanted: ReadonlyMap<string, number>,
  now: number,
): Promise<boolean> {
  return (await findNext(db, { transport, wanted, now, most: 1 }, reading)).length > 0
}

interface Wish {
  transport: Transport
  /** How many messages of each type. */
  wanted: ReadonlyMap<string, number>
  /** Milliseconds since the epoch. */
  now: number
  /** How many messages in total. */
  most: number
}

/**
 * Finds the next messages of a transport: those that have been due longest and whose groups no worker holds, at most one of each group.
 * Locks them and their groups until the transaction ends, and skips what other transactions have locked. The head of a group is one step
 * in an index, so the time grows with the number of groups, not with the number of messages. The statements are prepared: workers run
 * them for every message and after every write of any process.
 */
export async function lockNext(transaction: RecordsTransaction, wish: Wish): Promise<string[]> {
  const found = await findNext(transaction, wish, locking)
  const left = new Map(wish.wanted)
  const groups = new Set<string>()
  const first = found.filter(({ type, group }) => {
    const count = left.get(type)!
    if (count === 0 || (group !== null && groups.has(group))) return false
    left.set(type, count - 1)
    if (group !== null) groups.add(group)
    return true
  })
  return first.slice(0, wish.most).map(({ id }) => id)
}

async function findNext(db: RecordsDatabase, { transport, wanted, now, most }: Wish, heads: Heads): Promise<Due[]> {
  const found: Due[] = []
  for (const { type, grouped, ungrouped } of (await waitingTypes(db, { transport })).rows) {
    const limit = Math.min(wanted.get(type) ?? 0, most)
    if (limit === 0) continue
    const query = { transport, type, now, limit }
    if (ungrouped) found.push(...(await heads.ungrouped(db, query)).rows)
    if (grouped) found.push(...(await heads.ofFreeGroups(db, query)).rows.filter(({ locked }) => locked === 1))
  }
  return found.toSorted((one, other) => one.available_at - other.available_at || (one.id < other.id ? -1 : 1))
}

/** Selects due messages of one type. */
interface DueQuery {
  transport: Transport
  type: string
  /** Milliseconds since the epoch. */
  now: number
  limit: number
}

interface Locked {
  /** 1 if the group of the message is locked; always 1 for a reader. */
  locked: number
}

interface GroupQuery extends DueQuery {
  group: string
}

/** Whether a message of one group and type is due. */
export async function hasNextOfGroup(db: RecordsDatabase, query: Omit<GroupQuery, 'limit'>): Promise<boolean> {
  return (await headOfGroup(db, { ...query, limit: 1 })).rows.length > 0
}

/** Finds and locks the next message of one group and type; null if none is due or another worker is just taking one. */
export async function lockNextOfGroup(
  transaction: RecordsTransaction,
  query: Omit<GroupQuery, 'limit'>,
): Promise<string | null> {
  const [head] = (await lockedHeadOfGroup(transaction, { ...query, limit: 1 })).rows
  return head?.locked === 1 ? head.id : null
}

const headOfGroup = prepare<GroupQuery, Due>((db, query) => dueOf(db, query).where('group', '=', query.group))

const lockedHeadOfGroup = prepare<GroupQuery, Due & Locked>((db, query) =>
  withLocks(db, dueOf(db, query).where('group', '=', query.group).forUpdate().skipLocked()),
)

/** The message of any type that is delayed and comes due next. */
export const nextDue = prepare<{ now: number }, Pick<Due, 'available_at'>>((db, { now }) =>
  db
    .selectFrom('queue_messages')
    .select('available_at')
    .where('lease', 'is', null)
    .where('available_at', '>', now)
    .orderBy('available_at')
    .limit(1),
)

/** Queries for the heads of a type. */
type Heads = typeof reading

const reading = {
  ungrouped: prepare<DueQuery, Due>((db, query) => dueOf(db, query).where('group', 'is', null)),
  ofFreeGroups: prepare<DueQuery, Due & Locked>((db, query) =>
    headsOfFreeGroups(db, query).select(({ lit }) => lit(1).as('locked')),
  ),
}

const locking: Heads = {
  ungrouped: prepare<DueQuery, Due>((db, query) =>
    dueOf(db, query).where('group', 'is', null).forUpdate().skipLocked(),
  ),
  ofFreeGroups: prepare<DueQuery, Due & Locked>((db, query) =>
    withLocks(db, headsOfFreeGroups(db, query).forUpdate('head').skipLocked()),
  ),
}

function dueOf(db: RecordsDatabase, { transport, type, now, limit }: DueQuery) {
  return db
    .selectFrom('queue_messages')
    .select(['id', 'type', 'group', 'available_at'])
    .where('transport', '=', transport)
    .where('type', '=', type)
    .where('lease', 'is', null)
    .where('available_at', '<=', now)
    .orderBy('available_at')
    .orderBy('id')
    .limit(limit)
}

/** Lists the types of the waiting messages of a transport, and whether some are in groups, by walking from name to name in the index. */
const waitingTypes = prepare<{ transport: Transport }, { type: string; grouped: number; ungrouped: number }>(
  (db, { transport }) =>
    db
      .withRecursive('types(name)', (query) =>
        query
          .selectFrom('queue_messages')
          .select(({ fn }) => fn.min<string | null>('type').as('name'))
          .where('transport', '=', transport)
          .where('lease', 'is', null)
          .unionAll(
            query
              .selectFrom('types')
              .select((expression) =>
                expression
                  .selectFrom('queue_messages as behind')
                  .select(({ fn }) => fn.min('behind.type').as('name'))
                  .where('behind.transport', '=', transport)
                  .where('behind.lease', 'is', null)
                  .whereRef('behind.type', '>', 'types.name')
                  .as('name'),
              )
              .where('types.name', 'is not', null),
          ),
      )
      .selectFrom('types')
      .select((expression) => {
        const some = (operator: 'is' | 'is not') =>
          expression
            .selectFrom('queue_messages as one')
            .select(({ lit }) => lit(1).as('found'))
            .where('one.transport', '=', transport)
            .where('one.lease', 'is', null)
            .whereRef('one.type', '=', 'types.name')
            .where('one.group', operator, null)
            .limit(1)
        return [
          expression.ref('types.name').$castTo<string>().as('type'),
          some('is not').as('grouped'),
          some('is').as('ungrouped'),
        ]
      })
      .where('types.name', 'is not', null)
      .$castTo<{ type: string; grouped: number; ungrouped: number }>(),
)

type GroupsQuery = Pick<DueQuery, 'transport' | 'type'>

/**
 * The message that comes first in each group with waiting messages of a type: the one that a worker holds, or else the one that a worker
 * takes next. Delayed messages count too.
 */
export const firstOfGroups = prepare<GroupsQuery, { group: string; payload: string }>((db, query) =>
  withGroups(db, query)
    .selectFrom('groups')
    .innerJoin('queue_messages as first', (join) =>
      join.on((on) => {
        const members = on
          .selectFrom('queue_messages as member')
          .select('member.id')
          .where('member.transport', '=', query.transport)
          .where('member.type', '=', query.type)
          .whereRef('member.group', '=', 'groups.name')
          .orderBy('member.available_at')
          .orderBy('member.id')
          .limit(1)
        const held = members.where('member.lease', 'is not', null)
        const next = members.where('member.lease', 'is', null)
        return on('first.id', '=', on.fn.coalesce(held, next))
      }),
    )
    .select(['groups.name as group', 'first.payload'])
    .$castTo<{ group: string; payload: string }>(),
)

/** A query over the groups with waiting messages; it walks from name to name in the index. */
function withGroups(db: RecordsDatabase, { transport, type }: GroupsQuery) {
  return db.withRecursive('groups(name)', (query) =>
    query
      .selectFrom('queue_messages')
      .select(({ fn }) => fn.min('group').as('name'))
      .where('transport', '=', transport)
      .where('type', '=', type)
      .where('lease', 'is', null)
      .where('group', 'is not', null)
      .unionAll(
        query
          .selectFrom('groups')
          .select((expression) =>
            expression
              .selectFrom('queue_messages as behind')
              .select(({ fn }) => fn.min('behind.group').as('name'))
              .where('behind.transport', '=', transport)
              .where('behind.type', '=', type)
              .where('behind.lease', 'is', null)
              .whereRef('behind.group', '>', 'groups.name')
              .as('name'),
          )
          .where('groups.name', 'is not', null),
      ),
  )
}

/** The messages that have been due longest among the heads of the groups that no worker holds. */
function headsOfFreeGroups(db: RecordsDatabase, query: DueQuery) {
  const { transport, type, now, limit } = query
  return (
    withGroups(db, query)
      .selectFrom('groups')
      .innerJoin('queue_messages as head', (join) =>
        join.on((on) => {
          const members = on
            .selectFrom('queue_messages as member')
            .select('member.id')
            .where('member.transport', '=', transport)
            .where('member.type', '=', type)
          const first = members
            .where('member.lease', 'is', null)
            .whereRef('member.group', '=', 'groups.name')
            .where('member.available_at', '<=', now)
          return on('head.id', '=', first.orderBy('member.available_at').orderBy('member.id').limit(1))
        }),
      )
      .select(['head.id', 'head.type', 'head.group', 'head.available_at'])
      // Checked again on the version that is locked.
      .where('head.lease', 'is', null)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('queue_messages as held')
              .select('held.id')
              .whereRef('held.group', '=', 'groups.name')
              .where('held.lease', 'is not', null),
          ),
        ),
      )
      .orderBy('head.available_at')
      .orderBy('head.id')
      .limit(limit)
  )
}
