import { defineConfig, type OxlintOverride } from 'oxlint'
import { bridges, homes, mayImport, rooms } from './rooms.ts'

type Pattern = { message: string } & ({ regex: string } | { group: string[] })

const down = '(ARCHITECTURE.md, "Imports point down").'

/** The imports of libraries that have their homes elsewhere. */
function foreignLibraries(path: string): Pattern[] {
  return Object.entries(homes)
    .filter(([, home]) => !home.some((each) => `${path}/`.startsWith(`${each}/`)))
    .map(([library, home]) => ({
      regex: `^${library}(/|$)`,
      message: `${library} is used in ${home.join(', ')} only (ARCHITECTURE.md, "Homes of libraries").`,
    }))
}

/** The imports of rooms that are not `allowed`, from files at one depth below `src`. */
function foreignRooms(allowed: readonly string[], depth: number): Pattern[] {
  const known = allowed.map((each) => each.split('/')[0]!)
  const foreign = [...rooms, 'app', 'errors'].filter((each) => !known.includes(each))
  const src = depth === 0 ? '\\./' : '\\.\\./'.repeat(depth)
  return [
    {
      regex: `^(${src}|#src/)(${foreign.join('|')})(/|\\.ts$)`,
      message: `Only ${allowed.join(', ')} are imported here ${down}`,
    },
    {
      regex: `^${'\\.\\./'.repeat(depth + 1)}(\\.\\./)*(src|test|bench)/|(^|/)(commands|bin)/`,
      message: `A room is imported by its own path, a command never ${down}`,
    },
    ...allowed
      .filter((each) => each.includes('/'))
      .map((file) => ({ group: ['**/pages/*', `!**/${file}`], message: `Only ${file} is imported here ${down}` })),
  ]
}

/** A later override replaces an earlier one: each path has one of its own for each depth, with all patterns. */
function override(files: string, patterns: readonly Pattern[]): OxlintOverride {
  return { files: [files], rules: { 'no-restricted-imports': ['error', { patterns: [...patterns] }] } }
}

/** The overrides for a room, a directory in it, or a file. */
function overridesOf(path: string): OxlintOverride[] {
  const [, room = ''] = path.split('/')
  const above = path.split('/').length - 2
  const allowed = [
    room,
    'lib',
    ...(room === 'lib' ? [] : ['errors']),
    ...(mayImport[room] ?? []),
    ...(bridges[path] ?? []),
  ]
  if (path in bridges) return [override(path, [...foreignLibraries(path), ...foreignRooms(allowed, above)])]
  return [0, 1, 2]
    .slice(above)
    .map((below) =>
      override(`${path}/${'*/'.repeat(below - above)}*.{ts,tsx}`, [
        ...foreignLibraries(path),
        ...foreignRooms(allowed, below + 1),
      ]),
    )
}

const commandPatterns: Pattern[] = [
  ...foreignLibraries('commands'),
  { regex: '^\\.{1,2}/|(^|/)(commands|bin)/', message: `Commands share code through src/cli ${down}` },
  ...foreignRooms(['cli', 'operations', 'lib', 'errors'], 1),
]

const homesInRooms = Object.values(homes)
  .flat()
  .filter((home) => home.split('/').length > 2)

function linesPerFunction(max: number): NonNullable<OxlintOverride['rules']> {
  return { 'max-lines-per-function': ['error', { max, skipBlankLines: true, skipComments: true }] }
}

export default defineConfig({
  plugins: ['typescript', 'import', 'unicorn', 'node', 'promise', 'vitest'],
  categories: { correctness: 'error' },
  ignorePatterns: ['dist/**', 'var/**', 'node_modules/**'],
  env: { node: true, es2024: true },
  rules: {
    eqeqeq: 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-duplicates': 'error',
    'import/no-self-import': 'error',
    'max-lines': ['error', { max: 300 }],
    'no-control-regex': 'off',
    'no-var': 'error',
    'prefer-const': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/no-explicit-any': 'error',
    'unicorn/no-useless-spread': 'off',
    'vitest/consistent-test-it': ['error', { fn: 'it', withinDescribe: 'it' }],
    'vitest/expect-expect': 'off',
    'vitest/no-conditional-expect': 'off',
    'vitest/require-to-throw-message': 'off',
    'vitest/valid-describe-callback': 'off',
    'vitest/valid-expect': ['error', { maxArgs: 2 }],
  },
  overrides: [
    ...[...rooms.map((room) => `src/${room}`), ...homesInRooms, ...Object.keys(bridges)].flatMap(overridesOf),
    override('commands/**/*.ts', commandPatterns),
    {
      files: ['src/**/*.{ts,tsx}', 'commands/**/*.ts'],
      rules: { ...linesPerFunction(50), 'node/no-process-env': 'error', 'no-console': 'error' },
    },
    // Markup takes a line for each element.
    { files: ['src/**/*.tsx'], rules: linesPerFunction(80) },
    { files: ['src/records/migrations/*.ts', 'src/config/template.ts'], rules: { 'max-lines-per-function': 'off' } },
    { files: ['src/config/environment.ts'], rules: { 'node/no-process-env': 'off' } },
  ],
})
