import { randomBytes } from 'node:crypto'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { until } from './until.ts'

/** A PostgreSQL server of the tests' own, on a Unix socket. */
export interface PostgresServer {
  /** The URL of a database on it. */
  url(database: string): string
  /** Path of its socket. */
  socket: string
  stop(): Promise<void>
  /** Ends the server as a power cut would, and starts it again. */
  crash(): Promise<void>
}

/** Directories with the server's programs: Debian does not put them into the PATH. */
function findPrograms(): string | null {
  const directories = [...globSync('/usr/lib/postgresql/*/bin'), ...(process.env['PATH'] ?? '').split(':')]
  return directories.find((each) => existsSync(join(each, 'initdb')) && existsSync(join(each, 'postgres'))) ?? null
}

/** Fast, and safe only for data that is not needed after the test. */
const settings = {
  listen_addresses: '',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
  shared_buffers: '64MB',
  max_wal_size: '1GB',
  autovacuum: 'off',
  log_min_messages: 'fatal',
}

/** What a shop's server has: nothing that was acknowledged is lost in a crash. */
export const durable = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' }

/** Starts a server with the database `postgres`; null where PostgreSQL is not installed. */
export async function startPostgres(changed: Record<string, string> = {}): Promise<PostgresServer | null> {
  const programs = findPrograms()
  if (programs === null) return null
  const directory = mkdtempSync(join(tmpdir(), 'pagecache-postgres-'))
  const data = join(directory, 'data')
  mkdirSync(data, { mode: 0o700 })
  // The server refuses to run as root.
  const other = process.getuid?.() === 0 ? otherUser() : null
  const user = other && { uid: other.uid, gid: other.gid }
  if (user !== null) for (const path of [directory, data]) chownSync(path, user.uid, user.gid)
  const init = ['-D', data, '-U', 'pagecache', '--auth=trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']
  execFileSync(join(programs, 'initdb'), init, { ...user, stdio: 'pipe', cwd: directory })
  const options = Object.entries({ ...settings, ...changed }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const run = () =>
    spawn(join(programs, 'postgres'), ['-D', data, '-k', directory, ...options], {
      ...user,
      cwd: directory,
      stdio: 'ignore',
    })
  const url = (database: string) => `postgres://pagecache@localhost/${database}?host=${encodeURIComponent(directory)}`
  let server = run()
  const answers = () => until(() => execute(url('postgres'), 'select 1').then(() => true))
  await answers()
  const end = async (signal: NodeJS.Signals) => {
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }
  return {
    url,
    socket: join(directory, '.s.PGSQL.5432'),
    async stop() {
      await end('SIGQUIT')
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
    },
    async crash() {
      await end('SIGQUIT')
      server = run()
      await answers()
    },
  }
}

/** A copy of a server that follows it, on a Unix socket of its own. */
export interface Standby {
  socket: string
  /** Ends it, so that it misses what its primary commits from now on. */
  pause(): Promise<void>
  /** Starts it again as the primary of a new timeline. */
  promote(): Promise<void>
  stop(): Promise<void>
}

/** Starts a standby with asynchronous streaming replication. */
export async function startStandby(primary: PostgresServer): Promise<Standby> {
  const programs = findPrograms()!
  const directory = mkdtempSync(join(tmpdir(), 'pagecache-standby-'))
  const data = join(directory, 'data')
  const other = process.getuid?.() === 0 ? otherUser() : null
  const user = other && { uid: other.uid, gid: other.gid }
  if (user !== null) chownSync(directory, user.uid, user.gid)
  const from = ['-h', dirname(primary.socket), '-U', 'pagecache', '-D', data, '-R', '-X', 'stream', '-c', 'fast']
  execFileSync(join(programs, 'pg_basebackup'), from, { ...user, stdio: 'pipe', cwd: directory })
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const url = `postgres://pagecache@localhost/postgres?host=${encodeURIComponent(directory)}`
  const run = async () => {
    const child = spawn(join(programs, 'postgres'), ['-D', data, '-k', directory, ...options], {
      ...user,
      cwd: directory,
      stdio: 'ignore',
    })
    await until(() => execute(url, 'select 1').then(() => true))
    return child
  }
  let server = await run()
  const end = async () => {
    const ended = once(server, 'exit')
    server.kill('SIGQUIT')
    await ended
  }
  return {
    socket: join(directory, '.s.PGSQL.5432'),
    pause: end,
    async promote() {
      server = await run()
      await execute(url, 'select pg_promote()')
      await until(async () => (await execute(url, 'select pg_is_in_recovery() as is')).rows[0].is === false)
    },
    async stop() {
      await end()
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** Creates an empty database; returns its URL. */
export async function newDatabase(server: PostgresServer): Promise<string> {
  const name = `database_${randomBytes(6).toString('hex')}`
  await execute(server.url('postgres'), `create database ${name}`)
  return server.url(name)
}

/** A user without rights of its own. */
export function otherUser(): { name: string; uid: number; gid: number } | null {
  for (const name of ['postgres', 'daemon']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout))
    if (uid && gid) return { name, uid, gid }
  }
  return null
}

/** Runs one statement on a connection of its own. */
export async function execute(url: string, statement: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await client.query(statement)
  } finally {
    await client.end()
  }
}
