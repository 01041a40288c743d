import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { lockingTransaction, unsyncedTransaction } from '../../src/records/locks.ts'
import type { RecordsDatabase } from '../../src/records/schema.ts'
import { openRecords } from '../../src/records/open.ts'
import { tempDir } from '../helpers/temp-dir.ts'

/** Whether commits wait for the disk. */
async function isSynced(db: RecordsDatabase): Promise<boolean> {
  const { rows } = await sql<{ synchronous: number }>`PRAGMA synchronous`.execute(db)
  return rows[0]!.synchronous === 2
}

async function open(): Promise<RecordsDatabase> {
  const records = await openRecords({ directory: await tempDir(), now: Date.now })
  onTestFinished(() => records.close())
  return records.db
}

it('only the commit of an unsynced transaction does not wait for the disk', async () => {
  const db = await open()
  expect(await unsyncedTransaction(db).execute(isSynced)).toBe(false)
  expect(await lockingTransaction(db).execute(isSynced)).toBe(true)
  expect(await db.transaction().execute(isSynced)).toBe(true)
  expect(await isSynced(db)).toBe(true)
})

it('writes are synced again after an unsynced transaction that fails', async () => {
  const db = await open()
  const failing = unsyncedTransaction(db).execute(() => Promise.reject(new Error('failed')))
  await expect(failing).rejects.toThrow('failed')
  expect(await isSynced(db)).toBe(true)
})

it('a statement that waits behind an unsynced transaction fails when the records are closed', async () => {
  const records = await openRecords({ directory: await tempDir(), now: Date.now })
  const begun = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const open = unsyncedTransaction(records.db).execute(async () => {
    begun.resolve()
    await closed.promise
  })
  await begun.promise
  const waiting = isSynced(records.db)
  await records.close()
  closed.resolve()
  await expect(open).rejects.toThrow()
  await expect(waiting).rejects.toThrow()
})
