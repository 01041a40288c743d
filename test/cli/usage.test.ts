import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { toUsageError } from '../../src/cli/usage-error.ts'
import { run, start } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

describe('wrong usage', () => {
  it.each([
    [['cache:stat'], 'Unknown command: cache:stat.', 'Did you mean cache:stats?'],
    [['cache', 'nonsense'], 'Unknown command: cache:nonsense.', ''],
    [['cache:warm'], 'Unknown command: cache:warm.', 'Did you mean warmup:start?'],
    [['cache:nonsense'], 'Unknown command: cache:nonsense.', 'pagecache --help lists all commands.'],
    [['cash'], 'Unknown command: cash.', 'Did you mean cache?'],
    [['xyzzy-plugh'], 'Unknown command: xyzzy-plugh.', 'pagecache --help lists all commands.'],
    [['cache:stats', '--jsn'], 'Unknown flag: --jsn.', 'Did you mean --json?'],
    [['cache:list', '--limt=3'], 'Unknown flag: --limt.', 'Did you mean --limit?'],
    [
      ['vendor:cache:clear', '--type', 'prodcts'],
      '--type: expected one of products, categories, cms, listings, buybox, not "prodcts"',
      'Did you mean products?',
    ],
    [['completion', 'bsh'], 'SHELL: expected one of bash', 'Did you mean bash?'],
    [['cache:list', '--limit', 'many'], '--limit: expected a whole number, not "many"', 'pagecache cache:list --help'],
    [['cache:list', '--limit='], '--limit: expected a whole number, not ""', 'pagecache cache:list --help'],
    [['cache:list', '--limit', '0'], 'Error: --limit: expected a whole number from 1 to 1000\n', ''],
    [['cache:list', '--offset', '-1'], 'Error: --offset: expected a whole number from 0\n', ''],
    [['cache:inspect'], 'cache:inspect needs URL:\n  URL: ', 'pagecache cache:inspect --help'],
    [['cache:stats', 'extra'], 'cache:stats takes no arguments, but got "extra".', 'pagecache cache:stats --help'],
    [['cache:inspect', 'http://a/', 'more', 'most'], 'cache:inspect takes only URL, but also got "more", "most".', ''],
    [['purge:entity', 'product', 'a', 'b'], 'purge:entity takes only TYPE and ID, but also got "b".', ''],
    [
      ['stage:stats', '0190c0de-0000-7000-8000-00000000000a', '--from', 'never'],
      'Error: --from: expected a date such as 2026-11-21\n',
      '',
    ],
    [
      ['stage:stats', '0190c0de-0000-7000-8000-00000000000a', '--from', '2026-02-02', '--to', '2026-01-01'],
      'Error: --from: must not be after --to\n',
      '',
    ],
    [['cache:traffic', '--since', '3x'], 'Error: --since: expected a duration such as 30m, 24h or 7d\n', ''],
    [['cache:traffic', '--since', '500d'], 'Error: --since: traffic is kept for 400 days\n', ''],
    [
      ['stage:create', 'x', '--retention-days', '-1'],
      'Error: --retention-days: expected a whole number from 0 to 36500\n',
      '',
    ],
    [
      ['stage:create', 'x', '--page-type', 'a', '--page-type', ''],
      'Error: --page-type: expected the name of a page type\n',
      '',
    ],
    [['stage:create', 'x', '--cta-label', 'Go'], 'Error: --cta-url: expected an http or https URL', ''],
    [
      ['stage:create', 'a\u001b[31mb'],
      'NAME: expected a name of 1 to 200 characters, without control characters\n',
      '',
    ],
    [['warmup:concurrency', '0'], 'Error: CONCURRENCY: expected a whole number from 1 to 256 or default', ''],
    [['stage:create', 'x', '--cta-url', '/a'], 'Error: --cta-url also needs --cta-label.\n', ''],
    [
      ['stage:create', 'x', '--text', 'a', '--html-file', 'b'],
      'Error: --html-file and --text cannot be combined.\n',
      '',
    ],
    [['stage:create', 'x', '--headline'], 'Error: --headline needs a value.\n', ''],
    [
      ['stage:create', 'x', '--frequency'],
      'Error: --frequency needs a value: one of always, once_per_session, once.\n',
      '',
    ],
    [['stage:create', 'x', '--headline', 'a', '--headline', 'b'], 'Error: --headline was given more than once.\n', ''],
    [['cache:inspect', 'nothing'], 'Error: URL: nothing is not an absolute URL', ''],
    [['stage:update', '0190c0de-0000-7000-8000-00000000000a'], 'No change given.', '--no-active'],
    [['warmup:start', '--batch-size', '0'], 'Error: --batch-size: expected a whole number from 1 to 1000\n', ''],
    [['purge:url', 'http://a/', 'nothing'], 'Error: URLS: ', ''],
    [['purge:entity', 'product', 'nothing'], 'Error: ID: "nothing" is not an id\n', ''],
    [
      ['client:create', ' \u0007'],
      'Error: NAME: expected a name of 1 to 200 characters, without control characters\n',
      '',
    ],
    [
      ['cache:stats', '--server', 'http://user:canary@a', '--profile', 'b'],
      'Error: --profile and --server cannot be combined.\n',
      '',
    ],
    [
      ['cache:stats', '--server', 'http://127.0.0.1:1', '--env', 'staging'],
      'Error: --env cannot be combined with --server',
      'Remove --env, or --server.',
    ],
    [
      ['cache:stats', '--server', 'http://127.0.0.1:1', '--project-dir', '.', '--config', 'a.yaml'],
      'Error: --project-dir and --config cannot be combined with --server',
      '',
    ],
    [['cache:stats', '--profile', 'a', '--env', 'staging'], 'Error: --env cannot be combined with --profile', ''],
    [['--server', 'http://a', 'cache:stats'], 'Unknown command: --server.', 'Put the command before its flags.'],
    [['--jsn'], 'Unknown command: --jsn.', 'Put the command before its flags.'],
    [['help', 'cash:stats'], 'Unknown command: cash:stats.', 'Did you mean cache:stats?'],
    [['xyzzy-plugh', '--help'], 'Unknown command: xyzzy-plugh.', 'pagecache --help lists all commands.'],
  ])('%j exits with 2 and explains the mistake', async (args, message, hint) => {
    const { code, stdout, stderr } = await run(args, { cwd: await tempDir() })
    expect(stderr).toContain(message)
    expect(stderr).toContain(hint)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  it('is a short JSON document with --json that does not repeat the command line', async () => {
    const { code, stdout, stderr } = await run(['cache:stats', '--json', '--token=canary-secret'], {
      cwd: await tempDir(),
    })
    expect(JSON.parse(stdout)).toEqual({
      success: false,
      message: 'Unknown flag: --token.',
      code: 'USAGE',
      hint: expect.any(String) as string,
    })
    expect(stdout.length).toBeLessThan(1000)
    expect(stderr).toBe('')
    expect(code).toBe(2)
  })

  it('does not repeat the value of an unknown flag', async () => {
    const { stdout, stderr } = await run(['cache:stats', '--token=canary-secret'], { cwd: await tempDir() })
    expect(stdout + stderr).not.toContain('canary-secret')
  })

  it('escapes control characters', async () => {
    const { stderr } = await run(['\u001b[31mred\u0007'], { cwd: await tempDir() })
    expect(stderr).toContain('\\u{1b}[31mred\\u{7}')
    expect(stderr).not.toContain('\u001b')
  })
})

describe('help', () => {
  it('lists topics and commands with and without --help', async () => {
    const bare = await run([])
    const asked = await run(['--help'])
    expect(bare.stdout).toMatch(/TOPICS[\s\S]*cache[\s\S]*COMMANDS[\s\S]*doctor/)
    expect(asked.stdout).toBe(bare.stdout)
    expect([bare.code, asked.code]).toEqual([0, 0])
  })

  it.each([[['cache:stats', '--help']], [['cache:stats', '-h']], [['help', 'cache:stats']]])(
    '%j explains a command with examples',
    async (args) => {
      const { code, stdout } = await run(args)
      expect(stdout).toMatch(
        /USAGE[\s\S]*EXAMPLES[\s\S]*\$ pagecache cache:stats --json[\s\S]*FLAGS[\s\S]*GLOBAL FLAGS\n.*help flags\n/,
      )
      expect(code).toBe(0)
    },
  )

  it.each([
    ['flags', /--timeout <duration>/],
    ['exit-codes', /^4 +not authorised/m],
    ['environment', /^PAGECACHE_PROFILE +/m],
    ['configuration', /^cache\.defaultTtl\t"0s"\tPAGECACHE_CACHE_DEFAULT_TTL$/m],
  ])('help %s explains what belongs to no command', async (topic, line) => {
    expect(await run(['help', topic])).toMatchObject({ code: 0, stdout: expect.stringMatching(line) as string })
    expect((await run(['--help'])).stdout).toContain(`help ${topic}`)
  })

  it('is plain text in a pipe', async () => {
    const { stdout } = await run(['cache:stats', '--help'], { alone: true })
    expect(stdout).not.toContain('\u001b')
  })

  it('prints the version with --version', async () => {
    const { code, stdout } = await run(['--version'], { alone: true })
    expect(stdout).toMatch(/^pagecache\/\d+\.\d+\.\d+ \S+ node-v\d+/)
    expect(code).toBe(0)
  })
})

describe('flags of every command', () => {
  it('--quiet prints only errors', async () => {
    const cwd = await tempDir()
    expect(await run(['cache:stats', '--quiet'], { cwd })).toEqual({ code: 0, signal: null, stdout: '', stderr: '' })
    expect(await run(['stage:list', '-q', '--columns', 'x'], { cwd })).toMatchObject({ code: 0 })
    expect((await run(['warmup:pause', '-q'], { cwd })).stderr).toContain('There is no warmup yet.')
    // The secret is shown only once.
    expect((await run(['client:create', 'shop', '-q'], { cwd })).stdout).toMatch(/^Secret: +\S{20,}$/m)
  })

  it('--no-input refuses instead of asking', async () => {
    const { code, stderr } = await run(['reverse-proxy:clear', '-n'], { cwd: await tempDir() })
    expect([code, stderr]).toEqual([2, expect.stringContaining('--no-input is set')])
  })

  it('--timeout ends a command that takes longer, with 1', async () => {
    const cwd = await tempDir()
    const { code, stderr } = await run(['monitor', '--no-tui', '--timeout', '300ms'], { cwd })
    const advice = 'No result within 0.3 s (--timeout).\nSee docs/troubleshooting.md#timed_out\n'
    expect([code, stderr]).toEqual([1, expect.stringContaining(advice)])
    expect(await run(['cache:stats', '--timeout', '5 parsecs'], { cwd })).toMatchObject({ code: 2 })
    expect(await run(['cache:stats', '--timeout', '10m'], { cwd })).toMatchObject({ code: 0 })
  })

  it('--debug names what is used and the causes of an error, without credentials', async () => {
    const cwd = await tempDir()
    const { stderr } = await run(['cache:stats', '--debug', '--env', 'staging'], { cwd })
    expect(stderr).toMatch(
      new RegExp(`^debug: environment staging, project ${cwd}, configuration none .*\n[^]*cache.stats took \\d+ ms`),
    )
    const env = { PAGECACHE_CLIENT_ID: 'a', PAGECACHE_CLIENT_SECRET: 'canary' }
    const failed = await run(['cache:stats', '--debug', '--server', 'http://127.0.0.1:1'], { cwd, env })
    expect(failed.stderr).toContain('Caused by: ')
    expect(failed.stderr).not.toContain('canary')
    expect((await run(['cache:stats', '--server', 'http://127.0.0.1:1'], { cwd, env })).stderr).not.toContain('    at ')
  })

  it('--watch shows a value again and again: JSON lines with --json', async () => {
    const cwd = await tempDir()
    const watch = async (args: readonly string[], mark: string) => {
      const child = start([...args, '--watch', '--interval', '100ms'], { cwd })
      let shown = ''
      child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()))
      const ended = once(child, 'close')
      await until(() => shown.split(mark).length > 3)
      child.kill('SIGINT')
      expect((await ended)[0]).toBe(130)
    }
    await watch(['status', '--json'], '{"success":true,"version"')
    await watch(['cache:stats'], 'hit ratio, last hour')
    expect(await run(['status', '--interval', '2s'], { cwd })).toMatchObject({ code: 2 })
    expect(await run(['status', '-w', '--interval', 'x'], { cwd })).toMatchObject({ code: 2 })
  })
})

it('explains a conflict of flags on a terminal, where oclif colours its message', () => {
  const conflict = '\u001b[2m  --jsonl=true cannot also be provided when using --csv\u001b[22m'
  const error = Object.assign(new Error(`The following error occurred:\n${conflict}\nSee more help with --help`), {
    oclif: {},
  })
  expect(toUsageError(error, { id: 'cache:list', flags: [], args: {} })).toMatchObject({
    code: 'USAGE',
    message: '--csv and --jsonl cannot be combined.',
  })
})
