import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { hasTmux, openTerminal } from '../helpers/tmux.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

it.runIf(hasTmux).each(['--help', 'cache --help', 'cache:list --help', 'help cache:list'])(
  '%s shows help on a terminal',
  async (args) => {
    const terminal = await openTerminal(`node ${program} ${args}; echo exit $?`, {
      columns: 80,
      rows: 200,
      cwd: await tempDir(),
    })
    const screen = await terminal.see(/exit \d/)
    expect(screen).toContain('USAGE')
    expect(screen).toContain('exit 0')
  },
)

it.runIf(hasTmux).each(['cache:list --help', 'help flags', 'help environment'])(
  '%s breaks no word on a terminal of 40 columns',
  async (args) => {
    const cwd = await tempDir()
    const whole = await run(args.split(' '), { cwd, alone: true })
    const words = new Set(whole.stdout.split(/\s+/))
    const terminal = await openTerminal(`node ${program} ${args}; echo exit $?`, { columns: 40, rows: 200, cwd })
    const [screen] = (await terminal.see(/exit \d/)).split(/EXAMPLES|exit \d/)
    expect(screen!.split(/\s+/).filter((word) => !words.has(word))).toEqual([])
  },
)

it.runIf(hasTmux)('help wraps at spaces on a narrow terminal', async () => {
  const terminal = await openTerminal(`node ${program} cache:list --help; echo exit $?`, {
    columns: 60,
    rows: 200,
    cwd: await tempDir(),
  })
  expect(await terminal.see(/exit \d/)).toContain('pagecache\n  help flags\n')
})
