import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { homes, mayImport, rooms } from '../../rooms.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const architecture = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')

interface Diagnostic {
  code: string
  message: string
  help?: string
  filename: string
}

interface Case {
  file: string
  code: string
  allowed: boolean
}

const importing = (specifier: string) => `import { thing } from '${specifier}'\n\nexport const use = thing\n`

const typesOfPages = 'pages/page.ts'

/** Rooms that may import the types of a page and nothing else of `src/pages`. */
const typesOfPagesOnly = rooms.filter((room) => mayImport[room]!.includes(typesOfPages))

/** One case for each pair of rooms, at the top of the room and one directory deeper, in `.ts` and in `.tsx`. */
function roomCases(room: string): Case[] {
  return rooms
    .filter((other) => other !== room)
    .flatMap((other) => {
      const typesOnly = other === 'pages' && typesOfPagesOnly.includes(room)
      const target = typesOnly ? 'page' : 'target'
      const allowed = other === 'lib' || typesOnly || mayImport[room]!.includes(other)
      return ['ts', 'tsx'].flatMap((extension) => [
        { file: `src/${room}/to-${other}.${extension}`, code: importing(`../${other}/${target}.ts`), allowed },
        { file: `src/${room}/deep/to-${other}.${extension}`, code: importing(`../../${other}/${target}.ts`), allowed },
      ])
    })
}

function isHome(path: string, library: string): boolean {
  return homes[library]!.some((home) => path === home || path.startsWith(`${home}/`))
}

/** One case for each room and library, and one for each home. */
function libraryCases(library: string): Case[] {
  const name = library.replace(/\W/g, '-')
  const places = rooms.flatMap((room) => [`src/${room}/uses-${name}.ts`, `src/${room}/uses-${name}.tsx`])
  const inHomes = homes[library]!.map((home) => (home.endsWith('.ts') ? home : `${home}/uses-${name}.ts`))
  return [...new Set([...places, ...inHomes, `commands/uses-${name}.ts`])].map((file) => ({
    file,
    code: importing(library),
    allowed: isHome(file, library),
  }))
}

const env = 'export const name = process.env.PAGECACHE_ENV\n'

const otherCases: Case[] = [
  { file: 'commands/imports-command.ts', code: importing('./serve.ts'), allowed: false },
  { file: 'commands/imports-room.ts', code: importing('#src/daemon/daemon.ts'), allowed: false },
  { file: 'commands/imports-cli.ts', code: importing('#src/cli/serve.ts'), allowed: true },
  { file: 'src/app.ts', code: importing('./operations/cache.ts'), allowed: false },
  { file: 'src/cli/imports-command.ts', code: importing('../../commands/serve.ts'), allowed: false },
  { file: 'src/cache/imports-test.ts', code: importing('../../test/helpers/daemon.ts'), allowed: false },
  { file: 'src/cache/imports-app.ts', code: importing('../app.ts'), allowed: false },
  { file: 'src/operations/imports-app.ts', code: importing('../app.ts'), allowed: true },
  { file: 'src/lib/imports-errors.ts', code: importing('../errors.ts'), allowed: false },
  { file: 'src/cache/imports-errors.ts', code: importing('../errors.ts'), allowed: true },
  ...typesOfPagesOnly.map((room) => ({
    file: `src/${room}/imports-codec.ts`,
    code: importing('../pages/codec.ts'),
    allowed: false,
  })),
]

const cases = [...rooms.flatMap(roomCases), ...Object.keys(homes).flatMap(libraryCases), ...otherCases]

/** Lints one tree and returns the diagnostics. */
async function lint(files: readonly { file: string; code: string }[]): Promise<Diagnostic[]> {
  const directory = await mkdtemp(join(tmpdir(), 'pagecache-layers-'))
  try {
    for (const file of ['oxlint.config.ts', 'rooms.ts']) await copyFile(join(root, file), join(directory, file))
    await symlink(join(root, 'node_modules'), join(directory, 'node_modules'))
    for (const { file, code } of files) {
      await mkdir(join(directory, dirname(file)), { recursive: true })
      await writeFile(join(directory, file), code)
    }
    return runLinter(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

function runLinter(directory: string): Diagnostic[] {
  const { stdout, stderr } = spawnSync(join(root, 'node_modules/.bin/oxlint'), ['--format', 'json', '.'], {
    cwd: directory,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (!stdout.startsWith('{')) throw new Error(`oxlint failed: ${stdout}${stderr}`)
  return (JSON.parse(stdout) as { diagnostics: Diagnostic[] }).diagnostics
}

let diagnostics: Diagnostic[]

beforeAll(async () => {
  diagnostics = (await lint(cases)).filter(({ code }) => code === 'eslint(no-restricted-imports)')
})

/** The cases that the linter judges otherwise than the table. */
function misjudged(group: readonly Case[]): string[] {
  const refused = new Set(diagnostics.map(({ filename }) => filename.replace(/^\.\//, '')))
  return group
    .filter(({ file, allowed }) => refused.has(file) === allowed)
    .map(({ file, allowed }) => `${file} should be ${allowed ? 'allowed' : 'refused'}`)
}

describe('imports point down', () => {
  it('has a rule for each room', () => {
    const directories = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(directories.map(({ name }) => name).toSorted()).toEqual(rooms.toSorted())
  })

  it.each(rooms)('src/%s imports the rooms that the table lists, and no others', (room) => {
    expect(misjudged(roomCases(room))).toEqual([])
  })

  it('allows no way round the rooms', () => {
    expect(misjudged(otherCases)).toEqual([])
  })

  it('lists the imports between domain rooms in ARCHITECTURE.md', () => {
    const domain = mayImport['workers']!.filter((room) => rooms.includes(room) && !['config', 'records'].includes(room))
    const expected = domain
      .map((room) => `${room} → ${mayImport[room]!.filter((each) => domain.includes(each)).join(', ')}`)
      .filter((each) => !each.endsWith(' '))
    const [, listed] = /^- Domain rooms import each other only where [^:]*: (.*)\.$/m.exec(architecture)!
    expect(listed!.split('; ').toSorted()).toEqual(expected.toSorted())
  })
})

/** The homes of each library in the table of ARCHITECTURE.md. */
function describedHomes(): Record<string, string[]> {
  const table = architecture.split('## Homes of libraries')[1]!.split('\n## ')[0]!
  const names = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)
  const rows = [...table.matchAll(/^\| (`.*) \| (`.*) \|$/gm)]
  return Object.fromEntries(
    rows.flatMap(([, libraries, home]) => names(libraries!).map((each) => [each, names(home!)])),
  )
}

const sorted = (table: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(Object.entries(table).map(([library, home]) => [library, home.toSorted()]))

describe('homes of libraries', () => {
  it('are the same in ARCHITECTURE.md', () => {
    expect(sorted(describedHomes())).toEqual(sorted(homes))
  })

  it.each(Object.keys(homes))('%s is imported in its homes only', (library) => {
    expect(misjudged(libraryCases(library))).toEqual([])
  })
})

it('names a heading of ARCHITECTURE.md in every message', () => {
  const headings = new Set([...architecture.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading))
  const withoutHeading = diagnostics.filter(
    ({ message, help = '' }) => !headings.has(/\(ARCHITECTURE\.md, "([^"]+)"\)/.exec(message + help)?.[1]),
  )
  expect(withoutHeading.slice(0, 3)).toEqual([])
})

it('lets only src/config/environment.ts read the environment', async () => {
  const found = await lint([
    { file: 'src/cache/key.ts', code: env },
    { file: 'src/tui/key.tsx', code: env },
    { file: 'src/config/environment.ts', code: env },
  ])
  expect(found.map(({ filename, code }) => [filename.replace(/^\.\//, ''), code]).toSorted()).toEqual([
    ['src/cache/key.ts', 'node(no-process-env)'],
    ['src/tui/key.tsx', 'node(no-process-env)'],
  ])
})
