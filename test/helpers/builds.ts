import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { scratch } from './scratch.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What a build reads. */
const sources = ['bin', 'commands', 'src', 'scripts', 'package.json', 'tsconfig.json', 'oclif.manifest.json', 'docs']

/** A build of the program in a directory of its own. */
export interface Build {
  program: string
  discard(): Promise<void>
}

/** Version of the next build. */
export const nextVersion = '0.999.0'

/**
 * Builds the program as it was at a revision: `PAGECACHE_UPGRADE_FROM`, else the previous commit. A clone without history has none, and
 * an exported checkout neither: then this checkout is built, which the next version also has to work beside.
 */
export async function buildPrevious(): Promise<Build> {
  const revision = process.env['PAGECACHE_UPGRADE_FROM'] ?? 'HEAD~1'
  return build('previous', (directory) => {
    try {
      const archive = execFileSync('git', ['archive', revision], { cwd: root, stdio: 'pipe', maxBuffer: 2 ** 30 })
      execFileSync('tar', ['-x', '-C', directory], { input: archive })
    } catch {
      console.warn(`Nodes are upgraded from this checkout: git has no revision ${revision} here.`)
      copySources(directory)
    }
  })
}

/** Builds this checkout as a later version, with one more migration: a table, and a column of a table that earlier nodes write. */
export async function buildNext(): Promise<Build> {
  return build('next', (directory) => {
    copySources(directory)
    const edit = (path: string, change: (text: string) => string) => {
      const file = join(directory, path)
      writeFileSync(file, change(readFileSync(file, 'utf8')))
    }
    edit('package.json', (text) => text.replace(/"version": "[^"]+"/, `"version": "${nextVersion}"`))
    writeFileSync(join(directory, 'src/records/migrations/9999-next.ts'), migration)
    edit('src/records/migrations/list.ts', (text) =>
      text.replace(/^\/\*\*/m, `import { next } from './9999-next.ts'\n\n/**`).replace(/\n\]\n/, '\n  next,\n]\n'),
    )
  })
}

const migration = `import type { Migration } from '../migrate.ts'
export const next: Migration = {
  name: '9999-next',
  async up({ schema }) {
    await schema.createTable('next_table').addColumn('id', 'bigint', (id) => id.primaryKey().notNull()).execute()
    await schema.alterTable('invalidations').addColumn('next_column', 'bigint', (column) => column.notNull().defaultTo(7)).execute()
  },
}
`

async function build(name: string, fill: (directory: string) => void): Promise<Build> {
  const { path, discard } = await scratch(name)
  const directory = join(path, 'pagecache')
  mkdirSync(directory)
  fill(directory)
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  execFileSync(process.execPath, ['scripts/build.js'], { cwd: directory, stdio: 'pipe' })
  return { program: join(directory, 'bin/run.js'), discard }
}

function copySources(directory: string): void {
  for (const each of sources) cpSync(join(root, each), join(directory, each), { recursive: true })
}
