import { copyFile, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../helpers/until.ts'
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
  // Lets the state of the log be read again after the last checkpoint.
  await setTimeout(150)
  expect(records.fault()).toBeNull()
  await copyFile(file, backup)
  return { directory, records, file, backup }
}

const isLost = (records: Records) => until(() => expect(records.fault()?.code).toBe('STORE_LOST'))

it('a smaller copy over the open file is noticed at once, and nothing is written', async () => {
  const { records, file, backup } = await openWithRows()
  for (let row = 0; row < 300; row++) await write(records)
  await copyFile(backup, file)
  expect(records.fault()?.code).toBe('STORE_LOST')
  await expect(write(records)).rejects.toMatchObject({ code: 'STORE_LOST' })
})

it.each([
  ['a copy of the same size', (file: string, backup: string) => copyFile(backup, file)],
  ['its own content', async (file: string) => writeFile(file, await readFile(file), { flag: 'r+' })],
  ['a larger file', async (file: string) => truncate(file, 50_000_000)],
])('%s is noticed', { timeout: 60_000 }, async (_, overwrite) => {
  const { records, file, backup } = await openWithRows()
  await overwrite(file, backup)
  await isLost(records)
})

it('checkpoints of this and another connection are not taken for it', { timeout: 60_000 }, async () => {
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

it('a log that was filled and truncated again is not taken for it', { timeout: 60_000 }, async () => {
  const { directory, records, file, backup } = await openWithRows()
  const other = await open(directory)
  for (const writer of [other, records, other, records]) {
    expect(await records.truncateLog()).toBe(true)
    // Lets the state of the empty log be read.
    await setTimeout(150)
    expect([records.fault(), other.fault()]).toEqual([null, null])
    await write(writer)
    expect(await writer.truncateLog()).toBe(true)
    expect([records.fault(), other.fault()]).toEqual([null, null])
    await write(records)
  }
  expect(await records.truncateLog()).toBe(true)
  await setTimeout(150)
  expect(records.fault()).toBeNull()
  await copyFile(backup, file)
  await isLost(records)
})
