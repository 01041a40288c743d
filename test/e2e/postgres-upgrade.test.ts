import { expect, inject, it } from 'vitest'
import { migrations } from '../../src/records/migrations/list.ts'
import { openRecords } from '../../src/records/open.ts'
import { runProgram, startDaemon } from '../helpers/daemon.ts'
import { execute } from '../helpers/postgres.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('commands and daemons refuse an older schema until serve --migrate or records:migrate has brought it up to date', async () => {
  const server = inject('postgres')!
  const name = `upgrade_${process.env['VITEST_POOL_ID']}`
  await execute(server, `drop database if exists ${name} with (force)`)
  await execute(server, `create database ${name}`)
  const url = server.replace('/postgres?', `/${name}?`)
  const postgres = { url, listenUrl: null, pool: 1 }
  await (await openRecords({ directory: '', postgres, now: Date.now, migrations: migrations.slice(0, -1) })).close()

  const env = { PAGECACHE_RECORDS_URL: url }
  const projectDir = await tempDir()
  const listed = await runProgram(['stage:list'], { projectDir, env })
  expect(listed.code).toBe(1)
  expect(listed.stderr).toContain(
    'Migrate it with pagecache records:migrate, or start the daemon with serve --migrate.',
  )
  const served = await runProgram(['serve', '--origin', 'http://127.0.0.1:9', '--port', '0'], { projectDir, env })
  expect(served.code).toBe(1)
  expect(served.stderr).toContain(`needed ${migrations.length}`)

  const daemon = await startDaemon({ env, args: ['--migrate', '--origin', 'http://127.0.0.1:9'] })
  expect(await daemon.stop()).toBe(0)
  const migrated = await runProgram(['records:migrate', '--json'], { projectDir, env })
  expect(JSON.parse(migrated.stdout)).toEqual({ success: true, from: migrations.length, to: migrations.length })
  await execute(server, `drop database ${name} with (force)`)
})
