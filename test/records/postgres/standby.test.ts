import { expect, it, onTestFinished } from 'vitest'
import { RecordsLedger } from '../../../src/cluster/records-ledger.ts'
import { openRecords } from '../../../src/records/open.ts'
import { execute, newDatabase, startPostgres, startStandby } from '../../helpers/postgres.ts'
import { startRelay } from '../../helpers/relay.ts'
import { until } from '../../helpers/until.ts'

it('a standby counts as unreachable until it was promoted', async () => {
  const primary = (await startPostgres())!
  onTestFinished(() => primary.stop())
  const { pathname } = new URL(await newDatabase(primary))
  const standby = await startStandby(primary)
  onTestFinished(() => standby.stop())
  const relay = await startRelay(primary.socket)
  onTestFinished(() => relay.stop())
  const postgres = { url: `postgres://pagecache@127.0.0.1:${relay.port}${pathname}`, listenUrl: null, pool: 2 }
  const records = await openRecords({ directory: '', postgres, now: Date.now })
  onTestFinished(() => records.close())
  const ledger = new RecordsLedger(records.db)
  const behind = `select count(*)::int as count from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()`
  await until(async () => (await execute(primary.url('postgres'), behind)).rows[0].count === 1)
  relay.lead(standby.socket)
  const reading = () => ledger.read(0)
  const inTransaction = () =>
    records.db.transaction().execute((transaction) => transaction.selectFrom('scheduled_tasks').selectAll().execute())
  const writing = () => records.db.deleteFrom('scheduled_tasks').execute()
  for (const work of [reading, inTransaction, writing])
    await expect(work()).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
  relay.lead(primary.socket)
  expect(await reading()).toMatchObject({ last: 0 })
})
