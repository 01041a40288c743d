import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openRecords } from '../helpers/records.ts'
import { startChild } from '../helpers/child.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

const script = join(import.meta.dirname, 'scheduler-child.ts')

async function setUp() {
  const directory = await tempDir()
  const file = join(directory, 'log')
  const records = await openRecords({ directory, now: Date.now })
  onTestFinished(() => records.close())
  const log = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
  const row = () => records.db.selectFrom('scheduled_tasks').selectAll().executeTakeFirstOrThrow()
  return {
    row,
    runs: () => log().filter((line) => line.startsWith('run ')),
    makeDue: () =>
      records.db
        .updateTable('scheduled_tasks')
        .set({ next_execution_at: Date.now() - 1000 })
        .execute(),
    scheduler: async (name: string) => {
      const child = await startChild([process.execPath, script, directory, file, name], {
        ready: () => log().includes(`ready ${name}`),
      })
      onTestFinished(async () => void (await child.stop('SIGKILL')))
      return child
    },
  }
}

it('two schedulers never run one task twice', async () => {
  const { row, runs, makeDue, scheduler } = await setUp()
  await Promise.all([scheduler('one'), scheduler('two')])
  await until(async () => (await row().catch(() => null)) !== null)
  for (let night = 1; night <= 20; night++) {
    await makeDue()
    await until(async () => (await row()).next_execution_at > Date.now())
    expect(runs()).toHaveLength(night)
  }
  expect(await row()).toMatchObject({ status: 'scheduled', error: null })
})

it('a task whose worker was killed is run by another one', async () => {
  const { row, runs, makeDue, scheduler } = await setUp()
  const slow = await scheduler('slow')
  await until(async () => (await row().catch(() => null)) !== null)
  await makeDue()
  await until(() => runs().length === 1)
  await scheduler('quick')
  slow.kill('SIGKILL')
  await until(async () => (await row()).status === 'scheduled')
  expect(runs()).toEqual(['run slow', 'run quick'])
  expect(await row()).toMatchObject({ result: 'quick' })
})
