import { sql } from 'kysely'
import { openRecords } from '../../src/records/open.ts'
import { migrations } from '../../src/records/migrations/list.ts'
import type { Migration } from '../../src/records/migrate.ts'

/** Run as a child process: opens the records in a directory, in one of three ways. */
const [directory = '', mode = 'plain'] = process.argv.slice(2)

const stuck: Migration = {
  name: 'stuck',
  async up(db) {
    await db.schema.createTable('half_done').addColumn('id', 'integer').execute()
    process.stdout.write('in the middle\n')
    await new Promise((resolve) => setTimeout(resolve, 600_000))
  },
}

const records = await openRecords({
  directory,
  now: Date.now,
  ...(mode === 'stuck' && { migrations: [...migrations, stuck] }),
})
if (mode === 'lock') {
  await records.db.transaction().execute(async (transaction) => {
    await sql`SELECT 1`.execute(transaction)
    process.stdout.write('locked\n')
    await new Promise((resolve) => process.stdin.once('data', resolve).resume())
  })
  process.stdout.write('released\n')
  process.stdin.destroy()
}
await records.close()
process.stdout.write('closed\n')
