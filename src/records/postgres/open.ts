import { Kysely, PostgresAdapter, PostgresIntrospector, type TransactionBuilder } from 'kysely'
import type { Pool } from 'pg'
import { migrate, type Migration } from '../migrate.ts'
import type { PostgresPlace, Records } from '../records.ts'
import type { RecordsSchema } from '../schema.ts'
import { RecordsCompiler } from './compiler.ts'
import { nameOf, openListener, openPool, statementNames } from './connect.ts'
import { PostgresDriver } from './driver.ts'
import { readOnly, toPostgresError, unusable } from './errors.ts'
import { Hints } from './hints.ts'
import { repeat } from './repeat.ts'
import { postgresVersion } from './version.ts'

/** How long a caller waits for a connection while all are in use (milliseconds). */
const maxPoolWait = 30_000

/** The oldest version that is supported, as in `server_version_num`. */
const minVersion = 130_000

/**
 * Opens the records in a PostgreSQL database and migrates their schema.
 *
 * @throws STORE_UNREACHABLE, STORE_FOREIGN, STORE_NEWER, STORE_BUSY
 */
export async function openPostgres(
  place: PostgresPlace,
  { now, migrations }: { now: () => number; migrations: readonly Migration[] },
): Promise<Records> {
  const server = nameOf(place.url)
  const pool = openPool(place)
  const hints = new Hints({ pool, connect: () => openListener(place) })
  const driver = new PostgresDriver({
    pool,
    size: place.pool,
    patience: maxPoolWait,
    server,
    nameOf: place.listenUrl === null ? statementNames() : null,
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
  let reads = 0
  try {
    await assertUsable(pool, server)
    await migrate(db, migrations, { database: server, version: postgresVersion })
  } catch (error) {
    await db.destroy()
    // Kysely does not close what it has not used.
    if (!pool.ending) await pool.end()
    throw toPostgresError(error, server)
  }
  return {
    db,
    now,
    check: async () => {
      await assertUsable(pool, server)
      return []
    },
    // Only the database knows, and asking takes a round trip: whatever was read before may be outdated.
    version: () => String((reads += 1)),
    hint: () => hints.read(),
    truncateLog: () => vacuum(pool),
    fault: () => null,
    close: async () => {
      await hints.close()
      await db.destroy()
    },
  }
}

/** Repeats transactions that conflict with others or lose their connection: their functions may be called several times. */
class RepeatingKysely extends Kysely<RecordsSchema> {
  override transaction(): TransactionBuilder<RecordsSchema> {
    const builder = super.transaction()
    const execute = builder.execute.bind(builder)
    return Object.assign(builder, {
      execute: <T>(callback: Parameters<typeof execute<T>>[0]): Promise<T> => repeat(() => execute(callback)),
    })
  }
}

interface Settings {
  version: number
  encoding: string
  isReadOnly: boolean
}

/** @throws STORE_FOREIGN, STORE_UNREACHABLE */
async function assertUsable(pool: Pool, server: string): Promise<void> {
  const { version, encoding, isReadOnly } = await readSettings(pool, server)
  if (version < minVersion)
    throw unusable(server, `is PostgreSQL ${Math.floor(version / 10_000)}; version 13 or later is required`)
  if (encoding !== 'UTF8') throw unusable(server, `has the encoding ${encoding}; UTF8 is required`)
  if (isReadOnly) throw readOnly(server)
}

async function readSettings(pool: Pool, server: string): Promise<Settings> {
  return repeat(async () => {
    try {
      const { rows } = await pool.query<Settings>(
        `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
          current_setting('transaction_read_only') = 'on' as "isReadOnly"`,
      )
      return rows[0]!
    } catch (error) {
      throw toPostgresError(error, server)
    }
  })
}

/** Removes deleted and old versions of events from their table. */
async function vacuum(pool: Pool): Promise<boolean> {
  return pool.query('vacuum vendor_stage_event').then(
    () => true,
    () => false,
  )
}
