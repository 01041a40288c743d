import { expect, it, onTestFinished } from 'vitest'
import { openQueue } from '../../../src/queue/records-queue.ts'
import { openRecords } from '../../../src/records/open.ts'
import { testDatabase } from '../../helpers/records.ts'
import { startRelay } from '../../helpers/relay.ts'
import { until } from '../../helpers/until.ts'

async function open(url = testDatabase()!.url) {
  const records = await openRecords({ directory: '', postgres: { url, listenUrl: null, pool: 2 }, now: Date.now })
  return { records, queue: openQueue(records, Date.now) }
}

const message = { transport: 'async', type: 't', payload: null } as const

it('a worker gets a hint when another process has changed the queue, also after its connection was lost', async () => {
  const { searchParams, pathname } = new URL(testDatabase()!.url)
  const relay = await startRelay(`${searchParams.get('host')}/.s.PGSQL.5432`)
  onTestFinished(() => relay.stop())
  const { records } = await open(`postgres://pagecache@127.0.0.1:${relay.port}${pathname}`)
  onTestFinished(() => records.close())
  const other = await open()
  onTestFinished(() => other.records.close())
  /** Resolves when a hint has arrived, and no other change follows by itself. */
  const changed = (before: string) => until(() => records.hint() !== before)
  const first = records.hint()
  await changed(first)
  const listening = records.hint()
  await other.records.db.insertInto('sales_channel').values({ id: 'a', name: '', url: '' }).execute()
  await other.queue.dispatch([message])
  await changed(listening)
  expect(Number(records.hint()) - Number(listening)).toBe(1)

  await relay.set('open')
  const lost = records.hint()
  await changed(lost)
  const again = records.hint()
  await other.queue.dispatch([message])
  await changed(again)
})

it('a process that ends right after its dispatch still sends its hint', async () => {
  const { records } = await open()
  onTestFinished(() => records.close())
  const before = records.hint()
  await until(() => records.hint() !== before)
  const listening = records.hint()
  const other = await open()
  await other.queue.dispatch([message])
  await other.records.close()
  await until(() => records.hint() !== listening)
})
