import { readdirSync, readFileSync, statSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const dist = fileURLToPath(new URL('../../dist/', import.meta.url))

/** Static imports of an entry, transitively: paths in dist/ and package names. */
function loadedBy(entry: string, seen = new Set<string>()): Set<string> {
  const code = readFileSync(join(dist, entry), 'utf8')
  for (const [, specifier = ''] of code.matchAll(/(?:\bfrom|\bimport)\s*["']([^"']+)["']/g)) {
    const target = specifier.startsWith('.') ? join(dirname(entry), specifier) : specifier
    if (seen.has(target)) continue
    seen.add(target)
    if (specifier.startsWith('.')) loadedBy(target, seen)
  }
  return seen
}

/** Strings that identify bundled libraries. */
const heavy = {
  kysely: 'SelectQueryBuilderImpl',
  yaml: 'MULTILINE_IMPLICIT_KEY',
  'cli-table3': 'colWidths',
  saxes: 'SaxesParser',
  ink: 'exitAlternativeScreen',
  h3: 'class H3',
  jose: 'JWSSignatureVerificationFailed',
  'better-sqlite3': 'Misspelled option',
}

const chunks = readdirSync(join(dist, 'chunks')).map((file) => readFileSync(join(dist, 'chunks', file), 'utf8'))

it.each(Object.entries(heavy))('%s is recognisable', (_, mark) => {
  expect(chunks.some((code) => code.includes(mark))).toBe(true)
})

it.each([
  'cli/main.js',
  'commands/cache/stats.js',
  'commands/serve.js',
  'commands/warmup/watch.js',
  'commands/monitor.js',
  'commands/client/create.js',
])('%s loads no database, no network and no HTTP framework', (entry) => {
  const loaded = [...loadedBy(entry)]
  expect(loaded).not.toContain('undici')
  expect(loaded).not.toContain('pino')
  const code = loaded
    .filter((file) => file.endsWith('.js'))
    .map((file) => readFileSync(join(dist, file), 'utf8'))
    .join('\n')
  for (const [name, mark] of Object.entries(heavy)) expect(code.includes(mark), name).toBe(false)
})

it('the library for the width of text is bundled, and runs only when it is needed', () => {
  expect(chunks.join('\n')).not.toMatch(/\(["'`]string-width["'`]\)/)
  expect(chunks.some((code) => /init_string_width ?= ?__esmMin/.test(code))).toBe(true)
})

/** Runs a command that prints, after its output, the files that it read and the modules of Node that it loaded. */
async function loadedByCommand(...args: string[]) {
  const recorder = join(await tempDir(), 'recorder.cjs')
  await writeFile(
    recorder,
    `const fs = require('node:fs')
     const { readFileSync } = fs
     const files = []
     fs.readFileSync = (file, ...rest) => (files.push(String(file)), readFileSync(file, ...rest))
     process.on('exit', () => fs.writeSync(2, JSON.stringify({ files, modules: process.moduleLoadList })))`,
  )
  const compiled = await tempDir()
  const { code, stderr } = await run(args, {
    cwd: await tempDir(),
    alone: true,
    env: { NODE_COMPILE_CACHE: compiled, NODE_OPTIONS: `--require ${recorder}` },
  })
  const { files, modules } = JSON.parse(stderr) as { files: string[]; modules: string[] }
  const [directory = ''] = await readdir(compiled)
  const cached = await readdir(join(compiled, directory))
  const sizes = cached.map((file) => statSync(join(compiled, directory, file)).size)
  return { code, files, modules, sizes }
}

it('compiles at most eight files for cache:stats --json, and loads no module of Node that takes milliseconds', async () => {
  const { code, files, modules, sizes } = await loadedByCommand('cache:stats', '--json')
  expect(code).toBe(0)
  // The ninth is the recorder.
  expect(sizes.length).toBeLessThanOrEqual(9)
  const slow = ['perf_hooks', 'internal/fs/promises', 'zlib', 'child_process', 'worker_threads', 'undici']
  expect(slow.filter((name) => modules.includes(`NativeModule ${name}`))).toEqual([])
  // The names of the commands are read instead of the manifest, with its texts for help.
  expect(files.filter((file) => file.endsWith('oclif.manifest.json'))).toEqual([])
  expect(files.filter((file) => file.endsWith('commands.json'))).toHaveLength(1)
})

it('caches the compiled code of all functions that commands share', async () => {
  const { sizes } = await loadedByCommand('config:show', '--json')
  const [source = ''] = readdirSync(join(dist, 'chunks')).filter((file) => file.startsWith('command-'))
  // The code of functions that are compiled when they are first called is missing in the cache; it would be smaller than its source.
  expect(Math.max(...sizes)).toBeGreaterThan(2 * statSync(join(dist, 'chunks', source)).size)
})

it('reads the manifest for the help of a command', async () => {
  const { code, files } = await loadedByCommand('cache:stats', '--help')
  expect(code).toBe(0)
  expect(files.filter((file) => file.endsWith('oclif.manifest.json'))).toHaveLength(1)
})
