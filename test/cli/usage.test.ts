import { describe, expect, it } from 'vitest'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'

describe('wrong usage', () => {
  it.each([
    [['cache:stat'], 'There is no command cache:stat.', 'Did you mean cache:stats?'],
    [['cache', 'stats'], 'There is no command cache stats.', 'Did you mean cache:stats?'],
    [['vendor:cache', 'clear', '--dry-run'], 'There is no command vendor cache clear.', 'Did you mean vendor:cache:clear?'],
    [['vendor', 'cache', 'clear'], 'There is no command vendor cache clear.', 'Did you mean vendor:cache:clear?'],
    [['cache', 'inspect', 'http://a/'], 'There is no command cache inspect.', 'Did you mean cache:inspect?'],
    [['cash'], 'There is no command cash.', 'Did you mean cache?'],
    [['xyzzy-plugh'], 'There is no command xyzzy-plugh.', 'pagecache --help lists all commands.'],
    [['cache:stats', '--jsn'], 'There is no flag --jsn.', 'Did you mean --json?'],
    [['cache:list', '--limt=3'], 'There is no flag --limt.', 'Did you mean --limit?'],
    [['vendor:cache:clear', '--type', 'prodcts'], 'Expected --type=prodcts to be one of', 'Did you mean products?'],
    [['completion', 'bsh'], 'Expected bsh to be one of', 'Did you mean bash?'],
    [['cache:list', '--limit', 'many'], 'Expected an integer but received: many', 'See --help.'],
    [['cache:list', '--limit', '0'], 'limit: expected a whole number from 1 to 1000', ''],
    [['cache:list', '--offset', '-1'], 'offset: expected a whole number from 0', ''],
    [['cache:inspect'], 'Missing 1 required arg', ''],
    [['cache:stats', 'extra'], 'Unexpected argument: extra', ''],
    [['--jsn'], 'There is no command --jsn.', ''],
  ])('%j ends with 2, says what is wrong and what would be right', async (args, message, hint) => {
    const { code, stdout, stderr } = await run(args, { cwd: await tempDir() })
    expect(stderr).toContain(message)
    expect(stderr).toContain(hint)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  it('is one small JSON document with --json, without the command line in it', async () => {
    const { code, stdout, stderr } = await run(['cache:stats', '--json', '--token=canary-secret'], { cwd: await tempDir() })
    expect(JSON.parse(stdout)).toEqual({
      success: false,
      message: 'There is no flag --token.',
      code: 'USAGE',
      hint: expect.any(String) as string,
    })
    expect(stdout.length).toBeLessThan(1000)
    expect(stderr).toBe('')
    expect(code).toBe(2)
  })

  it('never repeats the value of an unknown flag', async () => {
    const { stdout, stderr } = await run(['cache:stats', '--token=canary-secret'], { cwd: await tempDir() })
    expect(stdout + stderr).not.toContain('canary-secret')
  })

  it('shows what could steer a terminal as text', async () => {
    const { stderr } = await run(['\u001b[31mred\u0007'], { cwd: await tempDir() })
    expect(stderr).toContain('\\u{1b}[31mred\\u{7}')
    expect(stderr).not.toContain('\u001b')
  })
})

describe('help', () => {
  it('lists topics and commands, with and without being asked', async () => {
    const bare = await run([])
    const asked = await run(['--help'])
    expect(bare.stdout).toMatch(/TOPICS[\s\S]*cache[\s\S]*COMMANDS[\s\S]*doctor/)
    expect(asked.stdout).toBe(bare.stdout)
    expect([bare.code, asked.code]).toEqual([0, 0])
  })

  it.each([[['cache:stats', '--help']], [['cache:stats', '-h']], [['help', 'cache:stats']]])('%j explains a command, with examples', async (args) => {
    const { code, stdout } = await run(args)
    expect(stdout).toMatch(/USAGE[\s\S]*--project-dir[\s\S]*EXAMPLES[\s\S]*\$ pagecache cache:stats --json/)
    expect(code).toBe(0)
  })

  it('is plain text where nobody looks', async () => {
    const { stdout } = await run(['cache:stats', '--help'])
    expect(stdout).not.toContain('\u001b')
  })

  it('answers --version', async () => {
    const { code, stdout } = await run(['--version'])
    expect(stdout).toMatch(/^pagecache\/\d+\.\d+\.\d+ \S+ node-v\d+/)
    expect(code).toBe(0)
  })
})
