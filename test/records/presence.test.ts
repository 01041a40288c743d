import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { holdersOf } from '../../src/records/presence.ts'
import { tempDir } from '../helpers/temp-dir.ts'

/** The ids of the processes that have a database open, where the system's list of locks is read like this. */
async function holders(read: (list: string) => string): Promise<number[]> {
  const file = join(await tempDir(), 'records.sqlite')
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  database.exec('CREATE TABLE t (a)')
  const { readFileSync } = fs
  onTestFinished(() => {
    Object.assign(fs, { readFileSync })
    syncBuiltinESMExports()
    database.close()
  })
  const replaced = (path: string, encoding: 'utf8') =>
    path === '/proc/locks' ? read(readFileSync(path, encoding)) : readFileSync(path, encoding)
  Object.assign(fs, { readFileSync: replaced })
  syncBuiltinESMExports()
  return holdersOf(file)
}

it.skipIf(process.platform !== 'linux').each([
  ['is complete', (list: string) => list],
  ['is empty, as sandboxes leave it', () => ''],
  ['does not exist', () => fs.readdirSync('/proc/locks/none').join('')],
  ['lacks the locks of the file system', (list: string) => list.replaceAll('1073741826', '7')],
])('finds the users of a database where the list of locks %s', async (_, read) => {
  expect(await holders(read)).toEqual([process.pid])
})

it.skipIf(process.platform !== 'linux')('finds users whose lock the list leaves out once', async () => {
  let reads = 0
  const other = '1: POSIX  ADVISORY  READ 1 00:00:1 1073741826 1073742335\n'
  expect(await holders((list) => ((reads += 1) === 1 ? other : list))).toEqual([process.pid])
})
