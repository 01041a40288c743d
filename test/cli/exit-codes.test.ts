import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('exits with 5 if another process locks the database', async () => {
  const cwd = await tempDir()
  expect((await run(['client:list'], { cwd, alone: true })).code).toBe(0)
  const other = new Database(join(cwd, 'var/data/prod/records.sqlite'))
  onTestFinished(() => void other.close())
  other.exec('BEGIN IMMEDIATE')
  expect(await run(['client:create', 'name'], { cwd, alone: true })).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringContaining('is locked by another process') as string,
  })
})

it('exits with 1 if the file is not a pagecache database', async () => {
  const cwd = await tempDir()
  expect((await run(['client:list'], { cwd, alone: true })).code).toBe(0)
  const other = new Database(join(cwd, 'var/data/prod/records.sqlite'))
  other.pragma('application_id = 1')
  other.close()
  expect((await run(['client:list'], { cwd, alone: true })).code).toBe(1)
})

it('documents the code of a command whose daemon is missing or unreachable', async () => {
  const { commands } = JSON.parse(await readFile(new URL('../../oclif.manifest.json', import.meta.url), 'utf8')) as {
    commands: Record<string, { exitCodes: number[] }>
  }
  const cwd = await tempDir()
  const top = await run(['top', '--json'], { cwd, alone: true })
  expect([top.code, commands['top']!.exitCodes]).toEqual([3, expect.arrayContaining([3])])
  const env = { PAGECACHE_SERVER: 'http://127.0.0.1:1', PAGECACHE_CLIENT_ID: 'id', PAGECACHE_CLIENT_SECRET: 'secret' }
  const path = await run(['config:path'], { cwd, env, alone: true })
  expect([path.code, commands['config:path']!.exitCodes], path.stderr).toEqual([5, expect.arrayContaining([4, 5])])
})

it('lists the documented exit codes of every command', async () => {
  const { commands } = JSON.parse(await readFile(new URL('../../oclif.manifest.json', import.meta.url), 'utf8')) as {
    commands: Record<string, { exitCodes?: number[] }>
  }
  for (const [id, { exitCodes }] of Object.entries(commands)) {
    expect(exitCodes, id).toEqual(expect.arrayContaining([0, 1, 2, 130]))
    for (const code of exitCodes!) expect([0, 1, 2, 3, 4, 5, 130], id).toContain(code)
  }
})
