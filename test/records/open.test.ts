import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { PagecacheError } from '../../src/errors.ts'
import { openRecords, type Records } from '../../src/records/open.ts'
import { migrations } from '../../src/records/migrations/list.ts'
import type { Migration } from '../../src/records/migrate.ts'
import { afterCall } from '../helpers/after-call.ts'
import { runRow } from '../warmup/run-row.ts'

const script = join(import.meta.dirname, 'open-in-child.ts')
let root: string
let directory: string
let file: string
const opened: Records[] = []
const children: ChildProcess[] = []

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'pagecache-records-'))
  directory = join(root, 'var/data/prod')
  file = join(directory, 'records.sqlite')
})

afterEach(async () => {
  for (const records of opened.splice(0)) await records.close()
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(root, { recursive: true, force: true, maxRetries: 10 })
})

async function open(options: { migrations?: readonly Migration[] } = {}): Promise<Records> {
  const records = await openRecords({ directory, now: Date.now, ...options })
  opened.push(records)
  return records
}

async function make(): Promise<void> {
  const records = await openRecords({ directory, now: Date.now })
  await records.close()
}

function startChild(mode: string): ChildProcess {
  const child = spawn(process.execPath, [script, directory, mode], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  return child
}

async function says(child: ChildProcess, word: string): Promise<void> {
  let text = ''
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    text += String(chunk)
    if (text.includes(word)) return
  }
  throw new Error(`The child ended after ${JSON.stringify(text)}`)
}

async function refusal(): Promise<PagecacheError> {
  const error = await open().then(
    () => new Error('It was opened'),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(PagecacheError)
  return error as PagecacheError
}

describe('a new database', () => {
  it('has our application id, the latest schema, WAL mode and access for its owner only', async () => {
    const { db } = await open()
    const pragma = async (name: string) =>
      Object.values((await sql<Record<string, unknown>>`PRAGMA ${sql.raw(name)}`.execute(db)).rows[0]!)[0]
    expect(await pragma('application_id')).toBe(0x70_67_63_72)
    expect(await pragma('user_version')).toBe(migrations.length)
    expect(await pragma('journal_mode')).toBe('wal')
    expect(await pragma('synchronous')).toBe(2)
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    await db
      .insertInto('warmup_runs')
      .values(runRow({ id: 'a' }))
      .execute()
    for (const name of readdirSync(directory))
      expect([name, statSync(join(directory, name)).mode & 0o777]).toEqual([name, 0o600])
  })

  it('keeps its rows after a second start', async () => {
    const first = await openRecords({ directory, now: Date.now })
    await first.db
      .insertInto('warmup_runs')
      .values(runRow({ id: 'a' }))
      .execute()
    await first.close()
    const { db } = await open()
    expect(await db.selectFrom('warmup_runs').select('id').execute()).toEqual([{ id: 'a' }])
  })

  it('unfinished files of a process that died while creating one are removed after a minute', async () => {
    await make()
    const old = join(directory, 'records.sqlite.new-1-aaaa')
    const recent = join(directory, 'records.sqlite.new-2-bbbb')
    writeFileSync(old, 'x')
    writeFileSync(recent, 'x')
    utimesSync(old, new Date(Date.now() - 61_000), new Date(Date.now() - 61_000))
    await open()
    expect(readdirSync(directory).filter((name) => name.includes('.new-'))).toEqual(['records.sqlite.new-2-bbbb'])
  })

  it('eight processes that start at once use the same one', async () => {
    const codes = await Promise.all(
      Array.from({ length: 8 }, async () => (await once(startChild('plain'), 'exit'))[0] as number),
    )
    expect(codes).toEqual(Array.from({ length: 8 }, () => 0))
    const { db, check } = await open()
    expect(await check()).toEqual([])
    expect(await db.selectFrom('warmup_runs').selectAll().execute()).toEqual([])
    expect(readdirSync(directory).filter((name) => name.includes('.new-'))).toEqual([])
  })
})

// An older SQLite, such as an operator's sqlite3, treats a database without locks as unused and removes its log on exit.
const hasLockTable = existsSync('/proc/locks')
it.skipIf(!hasLockTable)(
  `a second opening in one process leaves the first its lock${hasLockTable ? '' : ' (no /proc/locks on this machine)'}`,
  async () => {
    const locks = () =>
      readFileSync('/proc/locks', 'utf8')
        .split('\n')
        .filter((line) => line.includes(`:${statSync(file).ino} `))
    await open()
    expect(locks()).toHaveLength(1)
    await open()
    expect(locks()).toHaveLength(1)
  },
)

describe('an untrusted file is refused and not changed', () => {
  const cases: { title: string; code: string; spoil: () => void }[] = [
    { title: 'empty', code: 'STORE_DAMAGED', spoil: () => truncateSync(file, 0) },
    { title: 'no database', code: 'STORE_FOREIGN', spoil: () => writeFileSync(file, 'a shopping list\n'.repeat(40)) },
    { title: 'shorter than a header', code: 'STORE_FOREIGN', spoil: () => writeFileSync(file, 'SQLite format 3\0') },
    { title: 'a database of another program', code: 'STORE_FOREIGN', spoil: () => pragma('application_id = 42') },
    { title: 'newer', code: 'STORE_NEWER', spoil: () => pragma(`user_version = ${migrations.length + 1}`) },
    { title: 'cut off', code: 'STORE_DAMAGED', spoil: () => truncateSync(file, statSync(file).size - 4096) },
    { title: 'overwritten in a table', code: 'STORE_DAMAGED', spoil: () => overwrite(2) },
    { title: 'overwritten in the schema', code: 'STORE_DAMAGED', spoil: () => overwrite(0) },
    {
      title: 'lost, with its log left behind',
      code: 'STORE_DAMAGED',
      spoil: () => (rmSync(file), writeFileSync(`${file}-wal`, 'frames')),
    },
  ]

  it.each(cases)('$title', async ({ code, spoil }) => {
    await make()
    spoil()
    const before = bytes()
    const error = await refusal()
    expect(error.code).toBe(code)
    expect(error.message).toContain(file)
    expect(error.hint).not.toBeNull()
    expect(bytes()).toEqual(before)
  })

  function bytes(): Buffer | null {
    return statSync(file, { throwIfNoEntry: false }) ? readFileSync(file) : null
  }

  function pragma(text: string): void {
    const database = new Database(file)
    database.pragma(text)
    database.pragma('wal_checkpoint(TRUNCATE)')
    database.close()
  }

  function overwrite(page: number): void {
    const content = readFileSync(file)
    content.fill(0xa5, page * 4096 + (page === 0 ? 100 : 0), (page + 1) * 4096)
    writeFileSync(file, content)
  }
})

it.each(['directory', 'pipe', 'socket'])('a %s at the path of the file is refused', async (kind) => {
  mkdirSync(directory, { recursive: true })
  if (kind === 'directory') mkdirSync(file)
  else if (kind === 'pipe') execFileSync('mkfifo', [file])
  else {
    const server = createServer().listen(file)
    await once(server, 'listening')
    onTestFinished(() => void server.close())
  }
  const error = await refusal()
  expect(error).toMatchObject({
    code: 'STORE_FOREIGN',
    message: `${file} is not a regular file`,
    hint: expect.stringContaining('Move it away') as string,
  })
})

it('a broken link at the path of the file is reported', async () => {
  mkdirSync(directory, { recursive: true })
  symlinkSync(join(root, 'nowhere'), file)
  expect((await refusal()).code).toBe('STORE_FULL')
})

it('a directory that cannot be written is reported', async () => {
  writeFileSync(join(root, 'var'), 'in the way')
  const error = await refusal()
  expect(error.code).toBe('STORE_FULL')
  chmodSync(join(root, 'var'), 0o600)
})

it('a directory that is deleted while the file is created is reported', async () => {
  afterCall('closeSync', () => rmSync(root, { recursive: true }))
  const error = await refusal()
  expect(error.code).toBe('STORE_FULL')
  expect(error.message).toContain('the directory does not exist')
})

it('a process killed during a migration leaves the previous version', async () => {
  const child = startChild('stuck')
  await says(child, 'in the middle')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const step: Migration = {
    name: 'step',
    up: async (db) => void (await db.schema.createTable('half_done').addColumn('id', 'integer').execute()),
  }
  const { db, check } = await open({ migrations: [...migrations, step] })
  expect(await check()).toEqual([])
  const { rows } = await sql<{ user_version: number }>`PRAGMA user_version`.execute(db)
  expect(rows[0]?.user_version).toBe(migrations.length + 1)
})

describe('while another process holds the lock', () => {
  it('a caller waits and fails after five seconds, while the event loop keeps running', async () => {
    const { db } = await open()
    const child = startChild('lock')
    await says(child, 'locked')
    const turns = countTurns()
    const error = await db
      .insertInto('warmup_runs')
      .values(runRow({ id: 'a' }))
      .execute()
      .then(
        () => null,
        (thrown: unknown) => thrown,
      )
    // If SQLite itself waited, none of them would run.
    expect(turns.stop()).toBeGreaterThan(20)
    expect(error).toMatchObject({ code: 'STORE_BUSY', status: 503 })
    expect(await db.selectFrom('warmup_runs').select('id').execute()).toEqual([])
  })

  it('a caller continues as soon as the lock is released', async () => {
    const { db } = await open()
    const child = startChild('lock')
    await says(child, 'locked')
    const written = db
      .insertInto('warmup_runs')
      .values(runRow({ id: 'a' }))
      .execute()
    child.stdin!.write('go\n')
    await written
    expect(await db.selectFrom('warmup_runs').select('id').execute()).toEqual([{ id: 'a' }])
  })
})

/** Counts turns of the event loop. */
function countTurns(): { stop(): number } {
  let turns = 0
  const timer = setInterval(() => void (turns += 1), 10)
  return { stop: () => (clearInterval(timer), turns) }
}
