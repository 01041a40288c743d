import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { openRecords, type Records } from '../../src/records/open.ts'
import { tempDir } from '../helpers/temp-dir.ts'

async function open(directory: string): Promise<Records> {
  const records = await openRecords({ directory, now: Date.now })
  onTestFinished(() => records.close().catch(() => {}))
  return records
}

/** Writes a few kilobytes, so that many calls make SQLite checkpoint by itself. */
const write = (records: Records) => sql`INSERT INTO padding VALUES (zeroblob(20000))`.execute(records.db)

async function openWithRows() {
  const directory = await tempDir()
  const records = await open(directory)
  await sql`CREATE TABLE padding (content BLOB)`.execute(records.db)
  for (let row = 0; row < 300; row++) await write(records)
  const file = join(directory, 'records.sqlite')
  const backup = join(directory, 'backup')
  expect(records.fault()).toBeNull()
  await copyFile(file, backup)
  return { directory, records, file, backup }
}

it('a smaller copy over the open file is noticed at once, and nothing is written', async () => {
  const { records, file, backup } = await openWithRows()
  for (let row = 0; row < 300; row++) await write(records)
  await copyFile(backup, file)
  expect(records.fault()?.code).toBe('STORE_LOST')
  await expect(write(records)).rejects.toMatchObject({ code: 'STORE_LOST' })
})

it('checkpoints of this and another connection are not taken for it', async () => {
  const { directory, records, file } = await openWithRows()
  const other = await open(directory)
  const started = (await readFile(file)).length
  for (let row = 0; row < 1000; row++) {
    await write(row % 3 === 0 ? other : records)
    if (row % 100 === 0) await (row % 200 === 0 ? other : records).truncateLog()
    expect([records.fault(), other.fault()]).toEqual([null, null])
  }
  expect((await readFile(file)).length).toBeGreaterThan(started)
})

it('a log that was filled and truncated again is not taken for it', async () => {
  const { directory, records } = await openWithRows()
  const other = await open(directory)
  for (const writer of [other, records, other, records]) {
    expect(await records.truncateLog()).toBe(true)
    await write(writer)
    expect(await writer.truncateLog()).toBe(true)
    expect([records.fault(), other.fault()]).toEqual([null, null])
  }
})
