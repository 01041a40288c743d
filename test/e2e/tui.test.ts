import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { run, start } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { hasTmux, openTerminal, type Terminal } from '../helpers/tmux.ts'
import { until } from '../helpers/until.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const monitor = `node ${join(root, 'bin/run.js')} monitor`
/** The screen with invented figures. It shows its process id. */
const play = `env TSX_TSCONFIG_PATH=${join(root, 'tsconfig.json')} node --import ${join(root, 'node_modules/tsx/dist/esm/index.mjs')} ${join(root, 'test/tui/play.tsx')}`

/** The command between two lines with the terminal's state before and after it. */
function framed(command: string): string {
  return `echo before; sh -c 'echo $$ > pid; exec ${command}'; echo "exit $?"; stty -a | grep -o '.icanon\\|[- ]echo '; echo after`
}

async function pidOf(cwd: string): Promise<number> {
  return Number((await readFile(join(cwd, 'pid'), 'utf8')).trim())
}

/** Asserts that the terminal's content and state are restored. */
async function expectRestored(terminal: Terminal, exit: number): Promise<string> {
  const shown = await terminal.see('after')
  expect(shown).toMatch(/^before/)
  expect(shown).toContain(`exit ${exit}`)
  expect(shown).toContain(' icanon')
  expect(shown).toContain(' echo')
  expect(await terminal.flag('alternate_on')).toBe('0')
  expect(await terminal.flag('cursor_flag')).toBe('1')
  expect(await terminal.flag('mouse_any_flag')).toBe('0')
  return shown
}

describe.skipIf(!hasTmux)('in a real terminal (needs tmux)', () => {
  it('the monitor takes the screen, follows its size, and gives it back with a summary', async () => {
    const cwd = await tempDir()
    const terminal = await openTerminal(framed(monitor), { columns: 120, rows: 36, cwd })
    expect(await terminal.see('cache    0 pages')).not.toContain('before')
    expect(await terminal.flag('alternate_on')).toBe('1')
    await terminal.resize(60, 15)
    await until(async () => {
      const small = (await terminal.screen()).trimEnd().split('\n')
      expect(small).toHaveLength(15)
      expect(small[0]).toContain('[1 Overview]')
      expect(small[14]).toMatch(/q leave\s*$/)
    })
    await terminal.resize(50, 8)
    await until(async () => expect((await terminal.screen()).trimEnd()).toBe('0 pages, 0 B'))
    await terminal.resize(100, 30)
    await terminal.see(/q leave\s*$/)
    await terminal.keys('4')
    await terminal.see('no failed messages')
    expect(await terminal.flag('mouse_any_flag')).toBe('1')
    // A click on `3 Purges`, and a command.
    await terminal.keys('\u001b[<0;40;1M')
    await terminal.see('[3 Purges]')
    await terminal.keys(':', 'o', 'v', 'Enter')
    await terminal.see('[1 Overview]')
    await terminal.keys('q')
    const shown = await expectRestored(terminal, 0)
    expect(shown).toContain('cache: 0 pages, 0 B')
    expect(shown).toContain('warmup: none yet')
  })

  it.each([
    ['SIGTERM', 130],
    ['SIGINT', 130],
    ['SIGHUP', 0],
  ] as const)('%s restores the terminal', async (signal, exit) => {
    const cwd = await tempDir()
    const terminal = await openTerminal(framed(monitor), { columns: 80, rows: 24, cwd })
    await terminal.see('cache    0 pages')
    process.kill(await pidOf(cwd), signal)
    expect(await expectRestored(terminal, exit)).toContain('cache: 0 pages, 0 B')
  })

  it('Ctrl-C quits, like q', async () => {
    const cwd = await tempDir()
    const terminal = await openTerminal(framed(monitor), { columns: 80, rows: 24, cwd })
    await terminal.see('cache    0 pages')
    await terminal.keys('C-c')
    await expectRestored(terminal, 0)
  })

  it('Ctrl-Z goes back to the shell, fg to the screen', async () => {
    const cwd = await tempDir()
    const terminal = await openTerminal('bash --norc --noprofile -i', { columns: 80, rows: 24, cwd })
    await terminal.see('bash-')
    await terminal.keys(monitor, 'Enter')
    await terminal.see('cache    0 pages')
    await terminal.keys('C-z')
    await terminal.see('Stopped')
    expect(await terminal.flag('alternate_on')).toBe('0')
    await terminal.keys('fg', 'Enter')
    await terminal.see('cache    0 pages')
    expect(await terminal.flag('alternate_on')).toBe('1')
    await terminal.keys('4')
    await terminal.see('no failed messages')
    await terminal.keys('q')
    await terminal.see('cache: 0 pages, 0 B')
  })

  it('a crash restores the terminal and prints the error', async () => {
    const cwd = await tempDir()
    const terminal = await openTerminal(framed(`${play} --crash`), { columns: 80, rows: 24, cwd })
    expect(await expectRestored(terminal, 1)).toContain('broke: Error: the fake source broke')
  })

  it('keys pause, resume and cancel a run, the screen shows the confirmed state, and a report is saved', async () => {
    const cwd = await tempDir()
    const terminal = await openTerminal(framed(play), { columns: 120, rows: 40, cwd, env: { TMPDIR: cwd } })
    await terminal.see('● RUNNING')
    await terminal.keys('p')
    await terminal.see('‖ PAUSED')
    await terminal.keys('r')
    await terminal.see('● RUNNING')
    await terminal.keys('Tab', 'Tab', 'Down', 'Enter')
    await terminal.see('In the cache now')
    await terminal.keys('Escape')
    await terminal.see('Worker slots')
    await terminal.keys('s')
    await terminal.see('Saved as')
    const [report] = (await readdir(cwd)).filter((name) => name.startsWith('pagecache-report-'))
    expect(JSON.parse(await readFile(join(cwd, report!), 'utf8'))).toHaveProperty('warmup.progress')
    await terminal.keys('c')
    await terminal.see('Cancel this warmup?')
    await terminal.keys('y')
    await terminal.see('× CANCELLED')
    await terminal.keys('q')
    await expectRestored(terminal, 0)
  })

  it('NO_COLOR removes colours but no text', async () => {
    const cwd = await tempDir()
    const terminal = await openTerminal(framed(monitor), { columns: 80, rows: 24, cwd, env: { NO_COLOR: '1' } })
    await terminal.see('cache    0 pages')
    // oxlint-disable-next-line no-control-regex -- colours are what is looked for
    expect(await terminal.screen({ escapes: true })).not.toMatch(/\u001b\[[0-9;]*[347]/)
    await terminal.keys('q')
    await expectRestored(terminal, 0)
  })

  it.each([
    ['TERM', 'dumb'],
    ['CI', 'true'],
    ['INK_SCREEN_READER', 'true'],
  ])('%s=%s: prints lines instead of the screen', async (name, value) => {
    const cwd = await tempDir()
    const terminal = await openTerminal(`echo before; env ${name}=${value} ${monitor}`, { columns: 200, rows: 24, cwd })
    const shown = await terminal.see('cache: 0 pages, 0 B; warmup: none yet')
    expect(shown).toMatch(/^before/)
    expect(await terminal.flag('alternate_on')).toBe('0')
  })

  it('a terminal without Unicode gets ASCII signs', async () => {
    const cwd = await tempDir()
    const terminal = await openTerminal(framed(monitor), { columns: 80, rows: 24, cwd, env: { LC_ALL: 'C' } })
    expect(await terminal.see('== Pages by type')).not.toContain('━')
  })
})

describe('without a terminal', () => {
  it('the monitor prints a line at once, and ends with the first signal', async () => {
    const child = start(['monitor'], { cwd: await tempDir() })
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    await until(() =>
      expect(stdout).toContain('cache: 0 pages, 0 B; warmup: none yet; purges: 0 in 24 h; queue: 0 waiting'),
    )
    child.kill('SIGTERM')
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(130)
  })

  it('with --json it is one value', async () => {
    const { code, stdout } = await run(['monitor', '--json'], { cwd: await tempDir(), alone: true })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      cache: { totalFiles: 0 },
      warmup: { progress: null },
      queue: { failed: 0 },
    })
  })

  it('without a warmup there is nothing to watch', async () => {
    const cwd = await tempDir()
    expect(await run(['warmup:watch'], { cwd })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('There is no warmup yet.') as string,
    })
    expect(await run(['warmup:watch', '0190c0de-0000-7000-8000-00000000dead'], { cwd })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('There is no warmup') as string,
    })
  })
})
