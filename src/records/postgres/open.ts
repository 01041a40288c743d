import { Kysely, PostgresAdapter, PostgresIntrospector, type IsolationLevel, type TransactionBuilder } from 'kysely'
import { migrate, type Migration } from '../migrate.ts'
import type { PostgresPlace, Records } from '../records.ts'
import type { RecordsSchema } from '../schema.ts'
import { RecordsCompiler } from './compiler.ts'
import { nameOf, openClient, openPool, statementNames } from './connect.ts'
import { PostgresDriver } from './driver.ts'
import { toPostgresError } from './errors.ts'
import { Hints, noticeOf } from './hints.ts'
import { repeat } from './repeat.ts'
import { assertUsable, countUsers, vacuum } from './server.ts'
import { postgresVersion } from './version.ts'

/** How long a caller waits for a connection while all are in use (milliseconds). */
const maxPoolWait = 30_000

/**
 * Opens the records in a PostgreSQL database. Creates their schema, and migrates an older one if `place` allows it.
 *
 * @throws STORE_UNREACHABLE, STORE_FOREIGN, STORE_NEWER, STORE_OLDER, STORE_BUSY
 */
export async function openPostgres(
  place: PostgresPlace,
  { now, migrations }: { now: () => number; migrations: readonly Migration[] },
): Promise<Records> {
  const { server, pool, hints, db } = connect(place)
  let reads = 0
  let before = 0
  try {
    await assertUsable(pool, server)
    before = await migrate(db, migrations, {
      database: server,
      version: postgresVersion,
      isShared: true,
      mayUpgrade: place.mayUpgrade ?? false,
    })
  } catch (error) {
    await db.destroy()
    // Kysely does not close what it has not used.
    if (!pool.ending) await pool.end()
    throw toPostgresError(error, server)
  }
  return {
    db,
    name: server,
    now,
    check: async () => {
      await assertUsable(pool, server)
      return []
    },
    // Only the database knows, and asking takes a round trip: whatever was read before may be outdated.
    version: () => String((reads += 1)),
    hint: () => hints.read(),
    watch: (listener) => hints.watch(listener),
    isShared: true,
    onPurge: (listener) => hints.watchPurges(listener),
    truncateLog: () => vacuum(pool),
    fault: () => null,
    countUsers: () => countUsers(db),
    schema: { before, now: migrations.length },
    close: async () => {
      await hints.close()
      await db.destroy()
    },
  }
}

function connect(place: PostgresPlace) {
  const server = nameOf(place.url)
  const pool = openPool(place)
  const hints = new Hints({ pool, connect: () => openClient(place.listenUrl ?? place.url) })
  const driver = new PostgresDriver({
    pool,
    size: place.pool,
    patience: maxPoolWait,
    server,
    nameOf: place.listenUrl === null ? statementNames() : null,
    afterCommit: noticeOf,
    onCommit: (statements) => hints.announce(statements),
  })
  const db = new RepeatingKysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (kysely) => new PostgresIntrospector(kysely),
      createQueryCompiler: () => new RecordsCompiler(),
    },
  })
  return { server, pool, hints, db }
}

/** Repeats transactions that conflict with others or lose their connection: their functions may be called several times. */
class RepeatingKysely extends Kysely<RecordsSchema> {
  override transaction(): TransactionBuilder<RecordsSchema> {
    return repeating(super.transaction())
  }
}

function repeating(builder: TransactionBuilder<RecordsSchema>): TransactionBuilder<RecordsSchema> {
  const execute = builder.execute.bind(builder)
  const setIsolationLevel = builder.setIsolationLevel.bind(builder)
  return Object.assign(builder, {
    execute: <T>(callback: Parameters<typeof execute<T>>[0]): Promise<T> => repeat(() => execute(callback)),
    setIsolationLevel: (level: IsolationLevel) => repeating(setIsolationLevel(level)),
  })
}
