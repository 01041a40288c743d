import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { openQueue } from '../../src/queue/records-queue.ts'
import { openRecords } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import type { CountedDatabase } from './counting-child.ts'

const messages = 600
const kills = 15

it('workers killed at any time lose no message and count none twice', async () => {
  const directory = await tempDir()
  const records = await openRecords({ directory, now: Date.now })
  onTestFinished(() => records.close())
  const queue = openQueue(records, Date.now)
  await records.db.schema.createTable('counted').addColumn('payload', 'integer').execute()
  const counted = () =>
    (records.db as unknown as CountedDatabase).selectFrom('counted').select('payload').orderBy('payload').execute()

  const children: ChildProcess[] = []
  onTestFinished(() => children.forEach((child) => child.kill('SIGKILL')))
  const start = async () => {
    const child = fork(join(import.meta.dirname, 'counting-child.ts'), [directory])
    children.push(child)
    await once(child, 'message')
    return child
  }
  await queue.dispatch(
    Array.from({ length: messages }, (_, payload) => ({
      transport: 'async',
      type: 'count',
      payload,
      ...(payload % 3 === 0 ? { group: `g${payload % 7}` } : {}),
    })),
  )
  const [first, second] = await Promise.all([start(), start()])
  const workers = [first, second]
  for (let kill = 0; kill < kills; kill++) {
    await sleep(Math.random() * 60)
    const victim = kill % 2
    workers[victim]!.kill('SIGKILL')
    await once(workers[victim]!, 'exit')
    workers[victim] = await start()
  }
  const deadline = performance.now() + 120_000
  for (;;) {
    const { transports, failed } = await queue.statistics()
    // A message fails after three crashes of its workers, which may happen here by chance: it is put back.
    if (failed > 0) await queue.retryFailed(null)
    else if (transports[0]!.count === 0) break
    if (performance.now() > deadline) throw new Error(`Not worked off: ${JSON.stringify(transports[0])}`)
    await sleep(50)
  }
  expect((await counted()).map(({ payload }) => payload)).toEqual(Array.from({ length: messages }, (_, index) => index))
})
