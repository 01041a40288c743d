import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { homes, mayImport } from '../../oxlint.config.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const rooms = Object.keys(mayImport)

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

/** Rooms that may import the types of a page and nothing else of `src/pages`. */
const typesOfPagesOnly = ['config', 'demo']

/** One case for each pair of rooms, at the top of the room and one directory deeper, in `.ts` and in `.tsx`. */
function roomCases(room: string): Case[] {
  return rooms
    .filter((other) => other !== room)
    .flatMap((other) => {
      const target = other === 'pages' && typesOfPagesOnly.includes(room) ? 'page' : 'target'
      const allowed = other === 'lib' || mayImport[room]!.includes(other)
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
    await copyFile(join(root, 'oxlint.config.ts'), join(directory, 'oxlint.config.ts'))
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
})

describe('homes of libraries', () => {
  it.each(Object.keys(homes))('%s is imported in its homes only', (library) => {
    expect(misjudged(libraryCases(library))).toEqual([])
  })
})

it('names a heading of ARCHITECTURE.md in every message', () => {
  const withoutHeading = diagnostics.filter(
    ({ message, help = '' }) => !/\(ARCHITECTURE\.md, "[^"]+"\)/.test(message + help),
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
