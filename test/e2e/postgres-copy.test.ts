import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { fill } from '../records/postgres/fill.ts'
import { openRecords } from '../../src/records/open.ts'
import { startChild } from '../helpers/child.ts'
import { runCommand } from '../helpers/commands.ts'
import { program } from '../helpers/daemon.ts'
import { environment } from '../helpers/environment.ts'
import { execute } from '../helpers/postgres.ts'
import { testDatabase } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

it('a killed records:copy leaves nothing, the next one copies everything, and a third is refused', async () => {
  const { url } = testDatabase()!
  // The commands start from SQLite.
  delete process.env['PAGECACHE_RECORDS_URL']
  const projectDir = await tempDir()
  const open = () => openRecords({ directory: join(projectDir, 'var/data/prod'), now: Date.now })
  const records = await open()
  const tables = await fill(records, 20, 20_000)
  const run = (...args: string[]) => runCommand(args, projectDir)

  // This process has the file open.
  const used = await run('records:copy', '--to', url, '--json')
  expect(used.code).toBe(3)
  expect(JSON.parse(used.stdout)).toMatchObject({ success: false, code: 'WRONG_STATE' })
  await records.close()

  const copying = await startChild([process.execPath, program, 'records:copy', '--to', url], {
    cwd: projectDir,
    env: environment(projectDir),
    ready: (logs) => logs.includes('%'),
  })
  copying.kill('SIGKILL')
  await copying.ended
  const others =
    "select 1 from pg_stat_activity where application_name like 'pagecache %' and datname = current_database()"
  await until(async () => (await execute(url, others)).rows.length === 0)
  for (const { name } of tables) expect((await execute(url, `select 1 from ${name} limit 1`)).rows).toEqual([])

  const copied = await run('records:copy', '--to', url, '--json')
  expect(copied.code).toBe(0)
  expect(JSON.parse(copied.stdout)).toMatchObject({ success: true, rows: 20 * (tables.length - 1) + 20_000 })
  const again = await run('records:copy', '--to', url)
  expect(again.code).toBe(3)
  expect(again.stderr).toContain('is not empty')
})

it('refuses while a worker of another machine uses the source, and a target that is the source', async () => {
  const { url } = testDatabase()!
  const projectDir = await tempDir()
  const env = { PAGECACHE_RECORDS_URL: url }
  const now = Date.now()
  await execute(
    url,
    `insert into queue_workers (id, host, pid, kind, transports, types, started_at, seen_at) values ('w', 'node-2', 7, 'daemon', '[]', '[]', ${now}, ${now})`,
  )
  const used = await runCommand(['records:copy', '--to', 'sqlite'], projectDir, env)
  expect(used.code).toBe(3)
  expect(used.stderr).toContain('process 7 on node-2 works on the queue')
  const same = await runCommand(['records:copy', '--to', url], projectDir, env)
  expect(same.code).toBe(2)
  await execute(url, 'delete from queue_workers')
  const other = await openRecords({ directory: '', postgres: { url, listenUrl: null, pool: 1 }, now: Date.now })
  onTestFinished(() => other.close())
  await other.db.selectFrom('sales_channel').selectAll().execute()
  const open = await runCommand(['records:copy', '--to', 'sqlite'], projectDir, env)
  expect(open.stderr).toContain('is open in another process')
})
