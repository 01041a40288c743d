import { spawnSync } from 'node:child_process'
import { copyFile, glob, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openRecords } from '../../src/records/open.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Lints one file in a directory of its own and returns the rules it breaks. */
async function brokenRules(file: string, code: string): Promise<string[]> {
  const directory = await tempDir()
  await copyFile(join(root, 'oxlint.config.ts'), join(directory, 'oxlint.config.ts'))
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'))
  await mkdir(join(directory, dirname(file)), { recursive: true })
  await writeFile(join(directory, file), code)
  const { stdout, stderr } = spawnSync(join(root, 'node_modules/.bin/oxlint'), ['--format', 'json', '.'], {
    cwd: directory,
    encoding: 'utf8',
  })
  if (!stdout.startsWith('{')) throw new Error(`oxlint failed: ${stdout}${stderr}`)
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string }[] }
  return diagnostics.map(({ code }) => code)
}

function importing(specifier: string): string {
  return `import { thing } from '${specifier}'\n\nexport const use = thing\n`
}

const refused = [
  ['src/pages/page.ts', '../cache/key.ts'],
  ['src/pages/page.ts', '../records/open.ts'],
  ['src/records/open.ts', '../pages/page.ts'],
  ['src/records/open.ts', '../warmup/runs.ts'],
  ['src/cache/key.ts', '../warmup/warm.ts'],
  ['src/cache/key.ts', '../operations/cache.ts'],
  ['src/cache/key.ts', '../app.ts'],
  ['src/warmup/run/warm.ts', '../../daemon/daemon.ts'],
  ['src/warmup/run/warm.ts', '../../stages/stage.ts'],
  ['src/purge/invalidate.ts', '../cache/key.ts'],
  ['src/operations/cache.ts', '../daemon/daemon.ts'],
  ['src/operations/doctor/finding.ts', '../../cli/output.ts'],
  ['src/daemon/daemon.ts', '../cli/output.ts'],
  ['src/cli/output.ts', '../daemon/daemon.ts'],
  ['src/cli/output.ts', '../../commands/serve.ts'],
  ['src/config/load.ts', '../pages/codec.ts'],
  ['src/lib/clock.ts', '../errors.ts'],
  ['src/lib/clock.ts', '../config/load.ts'],
  ['src/app.ts', './operations/cache.ts'],
  ['commands/serve.ts', './demo.ts'],
  ['commands/serve.ts', '#src/daemon/daemon.ts'],
  ['commands/monitor.ts', '#src/tui/watch.ts'],
  ['src/cli/monitor.ts', '../daemon/serve.ts'],
  ['src/pages/page.ts', 'zod'],
  ['src/cache/key.ts', 'zod/mini'],
  ['src/cache/key.ts', 'undici'],
  ['src/warmup/run/warm.ts', 'undici'],
  ['src/warmup/run/warm.ts', 'kysely'],
  ['src/operations/cache.ts', 'better-sqlite3'],
  ['src/operations/cache.ts', '@oclif/core/command'],
  ['src/cache/key.ts', 'h3'],
  ['src/daemon/daemon.ts', 'ink'],
  ['commands/serve.ts', 'h3'],
] as const

const allowed = [
  ['src/warmup/run/warm.ts', '../../cache/key.ts'],
  ['src/cache/key.ts', '../pages/page.ts'],
  ['src/cache/origin.ts', 'undici'],
  ['src/warmup/discover/discover.ts', 'undici'],
  ['src/records/open.ts', 'kysely'],
  ['src/pages/page-index.ts', 'better-sqlite3'],
  ['src/operations/cache.ts', '../app.ts'],
  ['src/operations/cache.ts', 'zod/mini'],
  ['src/config/schema.ts', '../pages/page.ts'],
  ['src/cli/output.ts', '@oclif/core/flags'],
  ['commands/serve.ts', '#src/cli/serve.ts'],
  ['commands/serve.ts', '#src/operations/cache.ts'],
  ['src/cli/serve.ts', '../daemon/serve.ts'],
  ['src/cli/monitor.ts', '../tui/watch.ts'],
] as const

describe('imports point down, and every library has its home', () => {
  it.each(refused)('%s may not import %s', async (file, specifier) => {
    expect(await brokenRules(file, importing(specifier))).toEqual(['eslint(no-restricted-imports)'])
  })

  it.each(allowed)('%s may import %s', async (file, specifier) => {
    expect(await brokenRules(file, importing(specifier))).toEqual([])
  })

  it('allows process.env in one file only', async () => {
    const code = 'export const name = process.env.PAGECACHE_ENV\n'
    expect(await brokenRules('src/cache/key.ts', code)).toEqual(['node(no-process-env)'])
    expect(await brokenRules('src/config/environment.ts', code)).toEqual([])
  })
})

/** The tables of each room; src/records defines them and queries none. */
const tablesOf: Record<string, readonly string[]> = {
  auth: ['api_clients'],
  purge: [
    'invalidations',
    'purges',
    'purge_deliveries',
    'purge_entities',
    'purge_hours',
    'purge_key_hours',
    'purge_pages',
    'purge_tag_hours',
    'purge_tags',
    'purge_urls',
    'reverse_proxy_states',
    'sqlite_sequence',
  ],
  queue: ['queue_messages', 'queue_workers'],
  schedule: ['scheduled_tasks'],
  stages: ['sales_channel', 'vendor_stage', 'vendor_stage_event', 'vendor_stage_rollup', 'vendor_stage_session'],
  warmup: ['warmup_batches', 'warmup_failures', 'warmup_live', 'warmup_origins', 'warmup_purged', 'warmup_runs'],
}

describe('each table is used by one room', () => {
  it('lists every table of the schema', async () => {
    const { db, close } = await openRecords({ directory: await tempDir(), now: Date.now })
    const tables = (await db.introspection.getTables({ withInternalKyselyTables: true })).map(({ name }) => name)
    await close()
    expect(Object.values(tablesOf).flat().toSorted()).toEqual([...tables, 'sqlite_sequence'].toSorted())
  })

  it('queries a table only in its own room', async () => {
    const foreign: string[] = []
    for await (const file of glob('src/**/*.{ts,tsx}', { cwd: root })) {
      const room = file.split('/')[1]!
      if (room === 'records') continue
      const code = await readFile(join(root, file), 'utf8')
      for (const [, table] of code.matchAll(/(?:[fF]rom|[iI]nto|[tT]able|[jJ]oin)\(\s*'(\w+)/g)) {
        const owner = Object.keys(tablesOf).find((each) => tablesOf[each]!.includes(table!))
        if (owner !== undefined && owner !== room)
          foreign.push(`${file} queries ${table}, which belongs to src/${owner}`)
      }
    }
    expect(foreign).toEqual([])
  })
})
