import { prepare } from '../records/statements.ts'
import type { RecordsDatabase } from '../records/schema.ts'
import type { Transport } from './queue.ts'

/** A due message. Of several, the one that has been due longest comes first. */
interface Candidate {
  id: string
  available_at: number
}

/**
 * Finds the next message of one of the types on a transport: the one that has been due longest and whose group no worker holds. `now`
 * is milliseconds since the epoch. The head of a group is one step in an index, so the time grows with the number of groups, not with
 * the number of messages. The statements are prepared: workers run them for every message and after every write of any process.
 */
export async function findNext(
  db: RecordsDatabase,
  transport: Transport,
  types: readonly string[],
  now: number,
): Promise<string | null> {
  const waiting = (await waitingTypes(db, { transport })).rows
  let first: Candidate | null = null
  for (const { name: type } of waiting) {
    if (type === null || !types.includes(type)) continue
    for (const find of [headOfUngrouped, headOfFreeGroups]) {
      const [head] = (await find(db, { transport, type, now })).rows
      if (head !== undefined && (first === null || isBefore(head, first))) first = head
    }
  }
  return first?.id ?? null
}

function isBefore(one: Candidate, other: Candidate): boolean {
  return one.available_at === other.available_at ? one.id < other.id : one.available_at < other.available_at
}

interface Place {
  transport: Transport
  type: string
  now: number
}

/** Finds the next message of one group and type; null if none is due. */
export async function findNextOfGroup(
  db: RecordsDatabase,
  of: { transport: Transport; type: string; group: string },
  now: number,
): Promise<string | null> {
  return (await headOfGroup(db, { ...of, now })).rows[0]?.id ?? null
}

const headOfGroup = prepare<Place & { group: string }, Candidate>((db, place) =>
  dueOf(db, place).where('group', '=', place.group),
)

const headOfUngrouped = prepare<Place, Candidate>((db, place) => dueOf(db, place).where('group', 'is', null))

function dueOf(db: RecordsDatabase, { transport, type, now }: Place) {
  return db
    .selectFrom('queue_messages')
    .select(['id', 'available_at'])
    .where('transport', '=', transport)
    .where('type', '=', type)
    .where('lease', 'is', null)
    .where('available_at', '<=', now)
    .orderBy('available_at')
    .orderBy('id')
    .limit(1)
}

/** Lists the types of the waiting messages of a transport, by walking from name to name in the index. */
const waitingTypes = prepare<{ transport: Transport }, { name: string | null }>((db, { transport }) =>
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
    .select('types.name')
    .where('types.name', 'is not', null),
)

/** A query over the groups with waiting messages; it walks from name to name in the index. */
function withGroups(db: RecordsDatabase, transport: Transport, type: string) {
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

/** The message that has been due longest among the heads of the groups that no worker holds. */
const headOfFreeGroups = prepare<Place, Candidate>((db, { transport, type, now }) =>
  withGroups(db, transport, type)
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
    .select(['head.id', 'head.available_at'])
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
    .limit(1),
)
