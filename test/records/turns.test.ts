import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { openRecords } from '../../src/records/open.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('queries leave the event loop its turn after one that took long', async () => {
  const { db, close } = await openRecords({ directory: await tempDir(), now: Date.now })
  onTestFinished(close)
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const numbers = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 500000) select count(*) from n`
  for (let query = 0; query < 5; query++) await numbers.execute(db)
  isOver = true
  expect(turns).toBeGreaterThanOrEqual(4)
})
