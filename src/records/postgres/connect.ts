import { hostname } from 'node:os'
import pg from 'pg'
import type { PostgresPlace } from '../records.ts'

/** Tells the connections of this process from others in `pg_stat_activity`. PostgreSQL keeps the first 63 bytes. */
export const applicationName = `pagecache ${process.pid}@${hostname()}`.slice(0, 63)

/** How long a connection may take, and a statement (milliseconds). */
const connectTimeout = 5000
const statementTimeout = 60_000

/** Integers of 64 bits and sums of them. All that are stored are exact as JavaScript numbers. */
const numeric: readonly number[] = [pg.types.builtins.INT8, pg.types.builtins.NUMERIC]

/** As an option of the pool, the limit would also end waits for connections that are in use. */
class TimedClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: connectTimeout })
  }
}

export function openPool(place: PostgresPlace): pg.Pool {
  const pool = new pg.Pool({
    ...connectionTo(place.url),
    Client: TimedClient,
    max: place.pool,
    query_timeout: statementTimeout,
  })
  // A lost connection shows in the next statement; without listeners it would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

function connectionTo(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    keepAlive: true,
    types: {
      getTypeParser: ((id: number, format: 'text' | 'binary') =>
        numeric.includes(id)
          ? Number
          : (pg.types.getTypeParser(id, format) as unknown)) as typeof pg.types.getTypeParser,
    },
  }
}

/** A connection that is not shared. @param timeout of a statement, in milliseconds; 0: none */
export function openClient(url: string, timeout = 0): pg.Client {
  return new TimedClient({ ...connectionTo(url), query_timeout: timeout })
}

/** Most statements that each connection keeps prepared: planning them takes longer than running them. */
const maxPrepared = 300

export function statementNames(): (text: string) => string | undefined {
  const names = new Map<string, string>()
  return (text) => {
    const name = names.get(text)
    if (name !== undefined || names.size >= maxPrepared) return name
    names.set(text, `s${names.size}`)
    return names.get(text)
  }
}

/** Names the database without its credentials. */
export function nameOf(url: string): string {
  try {
    const { hostname, port, pathname, searchParams } = new URL(url)
    const host = searchParams.get('host') ?? (hostname === '' ? 'localhost' : decodeURIComponent(hostname))
    const name = decodeURIComponent(pathname.slice(1))
    return `PostgreSQL at ${host}${port === '' ? '' : `:${port}`}${name === '' ? '' : `, database ${name}`}`
  } catch {
    return 'PostgreSQL'
  }
}
