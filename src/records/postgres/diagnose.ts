import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { PostgresPlace } from '../records.ts'
import { nameOf, openClient } from './connect.ts'
import { toPostgresError } from './errors.ts'

export interface Diagnosis {
  /** As the server writes it, such as `15.6`. */
  version: string
  /** Median time for one statement, in milliseconds. */
  roundTrip: number
  /** How far the server's clock is ahead of this machine's, in milliseconds; accurate to half a round trip. */
  clock: number
  /** The isolation that a transaction gets which asks for `serializable`. */
  isolation: string
  /** Settings under which acknowledged changes may be lost in a crash. */
  unsafe: string[]
  /** Whether each transaction over `records.url`, or over `records.listenUrl`, may have another connection. */
  isPooled: boolean
  isListenPooled: boolean
  /** How long a notification takes, in milliseconds; null: none arrived. */
  notification: number | null
}

/** How long a statement may take, in milliseconds: a pooler whose connections are all in use lets it wait. */
const maxStatement = 5000
/** Statements that are timed. */
const samples = 5
/** How long a notification may take (milliseconds). */
const maxNotification = 2000

/** Measures a PostgreSQL server over connections of its own. @throws STORE_UNREACHABLE */
export async function diagnose(place: PostgresPlace): Promise<Diagnosis> {
  const url = place.listenUrl ?? place.url
  const clients = [place.url, place.url, url, url].map((each) => openClient(each, maxStatement))
  const [one, other, listener, neighbour] = clients as [Client, Client, Client, Client]
  for (const client of clients) client.on('error', () => {})
  try {
    await Promise.all(clients.map((client) => client.connect()))
    const isListenPooled = await isPooled(listener, neighbour)
    return {
      ...(await measure(one)),
      ...(await readSettings(one)),
      isPooled: await isPooled(one, other),
      isListenPooled,
      // A pooler would give the connection that listens to others.
      notification: isListenPooled ? null : await timeNotification(listener, one),
    }
  } catch (error) {
    throw toPostgresError(error, nameOf(place.url))
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
  }
}

async function measure(client: Client): Promise<Pick<Diagnosis, 'roundTrip' | 'clock'>> {
  const times: { took: number; clock: number }[] = []
  for (let sample = 0; sample < samples; sample += 1) {
    const [began, started] = [Date.now(), performance.now()]
    const { rows } = await client.query<{ at: number }>(
      'select extract(epoch from clock_timestamp())::float8 * 1000 as at',
    )
    const took = performance.now() - started
    times.push({ took, clock: rows[0]!.at - (began + took / 2) })
  }
  times.sort((a, b) => a.took - b.took)
  return { roundTrip: times[samples >> 1]!.took, clock: times[0]!.clock }
}

async function readSettings(client: Client): Promise<Pick<Diagnosis, 'version' | 'isolation' | 'unsafe'>> {
  await client.query('begin isolation level serializable')
  const { rows } = await client.query<Record<'version' | 'isolation' | 'fsync' | 'pages' | 'commit', string>>(
    `select current_setting('server_version') as version, current_setting('transaction_isolation') as isolation,
      current_setting('fsync') as fsync, current_setting('full_page_writes') as pages, current_setting('synchronous_commit') as commit`,
  )
  await client.query('rollback')
  const { version, isolation, fsync, pages, commit } = rows[0]!
  const settings = { fsync, full_page_writes: pages, synchronous_commit: commit }
  return {
    version,
    isolation,
    unsafe: Object.entries(settings).flatMap(([name, value]) => (value === 'off' ? [name] : [])),
  }
}

/**
 * A pooler gives the connection that a client has just used to its neighbour, or its oldest one to the client. Never waits for a
 * connection that the neighbour holds: the pool may have only one.
 */
async function isPooled(client: Client, neighbour: Client): Promise<boolean> {
  const pid = async (of: Client) => (await of.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid
  const before = await pid(client)
  await neighbour.query('begin')
  const taken = await pid(neighbour)
  await neighbour.query('rollback')
  if (taken === before) return true
  return (await pid(client)) !== before || (await pid(client)) !== before
}

async function timeNotification(listener: Client, sender: Client): Promise<number | null> {
  const channel = `pagecache_doctor_${randomBytes(8).toString('hex')}`
  const arrived = Promise.withResolvers<number>()
  listener.on('notification', (notification) => {
    if (notification.channel === channel) arrived.resolve(performance.now())
  })
  await listener.query(`listen ${channel}`)
  const sent = performance.now()
  await sender.query(`notify ${channel}`)
  const done = new AbortController()
  const late = sleep(maxNotification, null, { signal: done.signal }).catch(() => null)
  const at = await Promise.race([arrived.promise, late])
  done.abort()
  return at === null ? null : at - sent
}
