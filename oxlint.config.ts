import { defineConfig, type OxlintOverride } from 'oxlint'

/** The rooms that operations and workers put together. */
const state = [
  'app',
  'cache',
  'cluster',
  'config',
  'notify',
  'pages',
  'purge',
  'queue',
  'records',
  'schedule',
  'stages',
  'traffic',
  'warmup',
]

/** What each room may import besides itself, `src/lib` and `src/errors.ts`. ARCHITECTURE.md, "Imports point down". */
export const mayImport: Record<string, readonly string[]> = {
  lib: [],
  config: ['pages'],
  records: [],
  pages: [],
  demo: ['pages'],
  queue: ['records'],
  schedule: ['queue', 'records'],
  auth: ['config', 'records'],
  cluster: ['pages', 'records'],
  cache: ['cluster', 'pages'],
  notify: ['config', 'queue', 'records'],
  purge: ['cluster', 'pages', 'queue', 'records'],
  stages: ['records'],
  traffic: ['pages', 'records'],
  warmup: ['cache', 'pages', 'queue', 'records'],
  workers: state,
  operations: [...state, 'auth', 'workers'],
  remote: ['operations'],
  tui: ['config', 'operations'],
  admin: ['operations'],
  cli: ['app', 'config', 'operations', 'pages', 'remote', 'workers'],
  http: [
    'app',
    'auth',
    'cache',
    'cluster',
    'config',
    'operations',
    'pages',
    'purge',
    'records',
    'stages',
    'traffic',
    'warmup',
  ],
  daemon: ['app', 'auth', 'cache', 'config', 'http', 'operations', 'pages', 'purge', 'stages', 'traffic', 'workers'],
}

/** The rooms and files in which an outside library or one of Node's network modules is used. ARCHITECTURE.md, "Homes of libraries". */
export const homes: Record<string, readonly string[]> = {
  '@oclif/core': ['commands', 'src/cli'],
  'better-sqlite3': ['src/pages', 'src/records'],
  'cli-table3': ['src/cli'],
  'cli-truncate': ['src/cli', 'src/tui'],
  'csv-stringify': ['src/cli'],
  'fastest-levenshtein': ['src/lib'],
  h3: ['src/http'],
  ink: ['src/tui'],
  jose: ['src/auth'],
  kysely: ['src/records'],
  'lru-cache': ['src/auth', 'src/cache', 'src/demo', 'src/pages', 'src/records', 'src/stages'],
  'node:http': ['src/http', 'src/daemon', 'src/demo', 'src/operations/doctor'],
  'node:net': [
    'src/http',
    'src/daemon',
    'src/demo',
    'src/operations/doctor',
    'src/cache',
    'src/auth',
    'src/lib',
    'src/traffic/live',
  ],
  'p-limit': ['src/operations/doctor', 'src/purge/deliver', 'src/warmup/discover'],
  pg: ['src/records'],
  pino: ['src/daemon'],
  preact: ['src/admin'],
  'prom-client': ['src/http', 'src/daemon'],
  re2js: ['src/purge'],
  react: ['src/tui'],
  redis: ['src/cluster/shared'],
  'sanitize-html': ['src/stages'],
  saxes: ['src/warmup/discover'],
  undici: ['src/cache/origin', 'src/notify', 'src/purge/deliver', 'src/remote', 'src/warmup/discover'],
  'string-width': ['src/cli', 'src/tui'],
  'structured-headers': ['src/cache'],
  uplot: ['src/admin'],
  'wrap-ansi': ['src/cli', 'src/tui'],
  yaml: ['src/config'],
  zod: ['src/config', 'src/operations'],
}

/** Files that may import further rooms: the modules through which a command loads the daemon, the terminal UI or the demo, and the preview of a stage. */
const bridges: Record<string, readonly string[]> = {
  'src/admin/stage-frame.ts': ['stages'],
  'src/cli/demo.ts': ['demo'],
  'src/cli/monitor.ts': ['tui'],
  'src/cli/serve.ts': ['auth', 'daemon'],
  'src/cli/start-warmup.ts': ['tui'],
  'src/cli/top.ts': ['tui'],
  'src/cli/watch-warmup.ts': ['tui'],
}

const rooms = Object.keys(mayImport)
const see = (heading: string) => `(ARCHITECTURE.md, "${heading}")`

/** Everything below `path` at one depth: `src/http` at depth 2 is `src/http/front/*`. A path that is a file is that file. */
function filesOf(path: string, depth: number): string[] {
  if (path.endsWith('.ts')) return [path]
  const below = path.split('/').length - 1
  return [`${path}/${'*/'.repeat(Math.max(0, depth - below))}*.{ts,tsx}`]
}

function foreignLibraries(path: string) {
  return Object.entries(homes)
    .filter(([, home]) => !home.some((each) => path === each || path.startsWith(`${each}/`)))
    .map(([library, home]) => ({
      regex: `^${library}(/|$)`,
      message: `${library} is used in ${home.join(', ')} only ${see('Homes of libraries')}.`,
    }))
}

function foreignRooms(room: string, depth: number, path: string) {
  const allowed = [room, 'lib', ...mayImport[room]!, ...(bridges[path] ?? [])]
  const foreign = rooms.filter((each) => !allowed.includes(each))
  const up = '\\.\\./'.repeat(depth)
  const down = see('Imports point down')
  return [
    { regex: `^(${up}|#src/)(${foreign.join('|')})/`, message: `src/${room} does not import these rooms ${down}.` },
    {
      regex: `^${up}\\.\\./(\\.\\./)*(src|test|bench)/|(^|/)(commands|bin)/`,
      message: `A room is imported by its own path, a command never ${down}.`,
    },
    ...(room === 'lib'
      ? [{ regex: `^${up}errors\\.ts$`, message: `src/lib knows nothing of the project ${down}.` }]
      : []),
    ...(room === 'config' || room === 'demo'
      ? [
          {
            group: ['**/pages/*', '!**/pages/page.ts'],
            message: `src/${room} imports the types of a page only ${down}.`,
          },
        ]
      : []),
    ...(mayImport[room]!.includes('app')
      ? []
      : [
          {
            regex: `^(${up}|#src/)app\\.ts$`,
            message: `src/${room} is handed what it needs by the composition root ${down}.`,
          },
        ]),
  ]
}

/** `no-restricted-imports` of one path: a later override replaces an earlier one, so each repeats everything. */
function override(path: string, depth: number): OxlintOverride {
  const room = path.split('/')[1]!
  const patterns = [...foreignLibraries(path), ...foreignRooms(room, depth, path)]
  return { files: filesOf(path, depth), rules: { 'no-restricted-imports': ['error', { patterns }] as const } }
}

const insideRooms = Object.values(homes)
  .flat()
  .filter((home) => home.split('/').length > 2)

export default defineConfig({
  plugins: ['typescript', 'import', 'unicorn', 'node', 'promise', 'vitest'],
  categories: { correctness: 'error' },
  ignorePatterns: ['dist/**', 'var/**', 'node_modules/**'],
  env: { node: true, es2024: true },
  rules: {
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-duplicates': 'error',
    'import/no-self-import': 'error',
    'no-unused-vars': 'error',
    'no-var': 'error',
    'prefer-const': 'error',
    eqeqeq: 'error',
    'no-debugger': 'error',
    'no-control-regex': 'off',
    'typescript/no-explicit-any': 'error',
    'typescript/consistent-type-imports': 'error',
    'unicorn/no-useless-spread': 'off',
    'vitest/valid-expect': ['error', { maxArgs: 2 }],
    'vitest/no-focused-tests': 'error',
    'vitest/no-disabled-tests': 'error',
    'vitest/consistent-test-it': ['error', { fn: 'it', withinDescribe: 'it' }],
    'vitest/require-to-throw-message': 'off',
    'vitest/expect-expect': 'off',
    'vitest/no-conditional-expect': 'off',
    'vitest/no-conditional-tests': 'off',
    'vitest/valid-describe-callback': 'off',
  },
  overrides: [
    ...rooms.flatMap((room) => [1, 2, 3].map((depth) => override(`src/${room}`, depth))),
    ...insideRooms.flatMap((path) => (path.endsWith('.ts') ? [1] : [2, 3]).map((depth) => override(path, depth))),
    ...Object.keys(bridges).map((path) => override(path, 1)),
    {
      files: ['src/app.ts'],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              ...foreignLibraries('src/app.ts'),
              {
                regex: '^\\./(operations|workers|remote|tui|admin|cli|http|daemon)/',
                message: `The composition root knows the domain only ${see('Imports point down')}.`,
              },
            ],
          },
        ],
      },
    },
    {
      files: ['commands/**/*.ts'],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              ...foreignLibraries('commands'),
              {
                regex: '^\\.{1,2}/|(^|/)(commands|bin)/',
                message: `Commands share code through src/cli ${see('Imports point down')}.`,
              },
              {
                regex: `^#src/(${rooms.filter((each) => !['cli', 'operations', 'lib'].includes(each)).join('|')})/|^#src/app\\.ts$`,
                message: `Commands import operations and src/cli only ${see('Imports point down')}.`,
              },
            ],
          },
        ],
      },
    },
    {
      files: ['src/**/*.{ts,tsx}', 'commands/**/*.ts'],
      rules: {
        'max-lines': ['error', { max: 300 }],
        'max-lines-per-function': ['error', { max: 50, skipBlankLines: true, skipComments: true }],
        'node/no-process-env': 'error',
        'no-console': 'error',
      },
    },
    {
      files: ['test/**/*.{ts,tsx}', 'bench/**/*.ts', 'scripts/**/*.{ts,js}'],
      rules: { 'max-lines': ['error', { max: 300 }] },
    },
    // Markup takes a line for each element.
    {
      files: ['src/**/*.tsx'],
      rules: { 'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }] },
    },
    { files: ['src/records/migrations/*.ts', 'src/config/template.ts'], rules: { 'max-lines-per-function': 'off' } },
    { files: ['src/config/environment.ts'], rules: { 'node/no-process-env': 'off' } },
  ],
})
