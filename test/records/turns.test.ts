import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { openRecords } from '../../src/records/open.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { VirtualTiming } from '../helpers/virtual-timing.ts'

/** Opens records, and returns a function that runs five queries of more than a millisecond each. */
async function slowQueries(): Promise<() => Promise<void>> {
  const { db, close } = await openRecords({ directory: await tempDir(), now: Date.now })
  onTestFinished(close)
  const numbers = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 500000) select count(*) from n`
  return async () => {
    for (let query = 0; query < 5; query++) await numbers.execute(db)
  }
}

it('queries leave the event loop its turn after one that took long', async () => {
  const runQueries = await slowQueries()
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await runQueries()
  isOver = true
  expect(turns).toBeGreaterThanOrEqual(4)
})

it('a virtual clock does not advance while queries wait for their turn', async () => {
  const runQueries = await slowQueries()
  const timing = new VirtualTiming()
  void timing.sleep(1000)
  await timing.until(runQueries())
  expect(timing.now()).toBe(0)
})
