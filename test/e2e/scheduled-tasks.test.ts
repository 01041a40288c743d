import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openRecords } from '../helpers/records.ts'
import { runCommand } from '../helpers/commands.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const names = [
  'vendor_cache.cleanup_reverse_proxy_log',
  'vendor_cache.cleanup_invalidation_log',
  'vendor_cache.cleanup_pages',
  'vendor_stage.prune_events',
]

async function project() {
  const cwd = await tempDir()
  const pagecache = (...args: string[]) => runCommand(args, cwd)
  await pagecache('scheduled-task:list')
  const records = await openRecords({ directory: join(cwd, 'var/data/prod'), now: Date.now })
  onTestFinished(() => records.close())
  return { cwd, pagecache, records }
}

describe('scheduled-task', () => {
  it(':list shows the four tasks, due the next night', async () => {
    const { pagecache } = await project()
    const { stdout } = await pagecache('scheduled-task:list')
    const [head, ...rows] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'))
    expect(head).toEqual(['Name', 'Next execution', 'Last execution', 'Run interval', 'Status'])
    expect(rows.map(([name, , last, interval, status]) => [name, last, interval, status])).toEqual(
      names.map((name) => [name, '-', '86400', 'scheduled']),
    )
    for (const [, next] of rows) expect(next).toMatch(/T02:00:00\.000Z$/)
    const json = JSON.parse((await pagecache('scheduled-task:list', '--json')).stdout) as { items: unknown[] }
    expect(json.items[0]).toEqual({
      name: names[0],
      nextExecution: rows[0]![1],
      lastExecution: null,
      runInterval: 86400,
      status: 'scheduled',
      result: null,
      error: null,
    })
  })

  it.each(names)(':run-single %s runs the task to completion', async (name) => {
    const { pagecache } = await project()
    const { code, stdout } = await pagecache('scheduled-task:run-single', name)
    expect([code, stdout]).toEqual([0, expect.stringMatching(`^\\[OK\\] ${name}: .*0 rows removed\n$`)])
    const { items } = JSON.parse((await pagecache('scheduled-task:list', '--json')).stdout) as {
      items: { name: string; lastExecution: string | null; status: string }[]
    }
    expect(items.filter(({ lastExecution }) => lastExecution !== null).map((item) => [item.name, item.status])).toEqual(
      [[name, 'scheduled']],
    )
  })

  it(':run --no-wait queues due tasks, and a consumer of the scheduler transport runs them', async () => {
    const { pagecache, records } = await project()
    await records.db
      .updateTable('scheduled_tasks')
      .set({ next_execution_at: Date.now() - 1 })
      .execute()
    expect((await pagecache('scheduled-task:run', '--no-wait')).stdout).toContain(
      '[OK] Scheduled tasks have been queued.',
    )
    expect(await records.db.selectFrom('queue_messages').select('type').orderBy('id').execute()).toEqual(
      names.map((type) => ({ type })),
    )
    const { stdout } = await pagecache('messenger:consume', 'scheduler', '--limit', '4')
    expect(stdout).toContain('4 messages; message limit reached.')
    expect(
      (await records.db.selectFrom('scheduled_tasks').select('status').execute()).map(({ status }) => status),
    ).toEqual(names.map(() => 'scheduled'))
  })

  it(':deactivate and :schedule, and the arguments they reject', async () => {
    const { pagecache, records } = await project()
    const name = names[2]!
    expect((await pagecache('scheduled-task:deactivate', name)).stdout).toBe(
      `[OK] Scheduled task "${name}" was deactivated.\n`,
    )
    expect(
      await records.db.selectFrom('scheduled_tasks').select('status').where('name', '=', name).executeTakeFirst(),
    ).toEqual({ status: 'inactive' })
    // An inactive task can be run by hand, and stays inactive.
    expect((await pagecache('scheduled-task:run-single', name)).code).toBe(0)
    expect(
      await records.db.selectFrom('scheduled_tasks').select('status').where('name', '=', name).executeTakeFirst(),
    ).toEqual({ status: 'inactive' })
    expect((await pagecache('scheduled-task:schedule', name, '--immediately')).stdout).toBe(
      `[OK] Scheduled task "${name}" was queued.\n`,
    )
    const refused = await pagecache('scheduled-task:deactivate', name)
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('--force')])
    expect((await pagecache('scheduled-task:schedule', name, '--force')).stdout).toMatch(
      /was scheduled for .*T02:00:00\.000Z/,
    )
    const unknown = await pagecache('scheduled-task:run-single', 'nope')
    expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining(names.join(', '))])
  })
})

it.each([
  ['the default of thirty days', '', [29]],
  ['a configured number of days', 'retention: { invalidationLogDays: 35 }', [29, 31]],
])('retention counts, with %s', async (_, config, left) => {
  const { cwd, pagecache, records } = await project()
  await writeFile(join(cwd, 'pagecache.yaml'), config)
  const day = 86_400_000
  const now = Date.now()
  const row = {
    source: 'cli',
    actor: null,
    scope: 'all',
    value: null,
    soft: 0,
    intent: null,
    owner: null,
    recorded: null,
    trace: null,
  }
  for (const age of [29, 31, 40])
    await records.db
      .insertInto('invalidations')
      .values({ ...row, created_at: now - age * day })
      .execute()
  const { stdout } = await pagecache('scheduled-task:run-single', 'vendor_cache.cleanup_invalidation_log')
  expect(stdout).toContain(`${3 - left.length} row`)
  const rows = await records.db.selectFrom('invalidations').select('created_at').orderBy('id').execute()
  expect(rows.map(({ created_at }) => (now - created_at) / day)).toEqual(left)
})

it('doctor warns about failed and overdue tasks', async () => {
  const { pagecache, records } = await project()
  expect((await pagecache('doctor')).stdout).toContain('ok    scheduled tasks: none failed or overdue')
  await records.db
    .updateTable('scheduled_tasks')
    .set({ status: 'failed', error: 'disk \u001b[31mon fire' })
    .where('name', '=', names[0]!)
    .execute()
  await records.db
    .updateTable('scheduled_tasks')
    .set({ next_execution_at: Date.now() - 86_400_000 })
    .where('name', '=', names[1]!)
    .execute()
  const { stdout } = await pagecache('doctor')
  expect(stdout).toContain(`warn  scheduled tasks: ${names[0]} failed: disk`)
  expect(stdout).toContain(`warn  scheduled tasks: ${names[1]} is overdue since`)
  expect(stdout).not.toContain('\u001b')
})
