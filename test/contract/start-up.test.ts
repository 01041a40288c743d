import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

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
  expect(loaded).not.toContain('better-sqlite3')
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
