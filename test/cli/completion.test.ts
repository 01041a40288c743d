import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { completionScript, type CompletableCommand } from '../../src/cli/completion.ts'
import { run } from '../helpers/cli.ts'

const commands: CompletableCommand[] = [
  {
    id: 'cache:clear',
    summary: "Clear the shop's `cache`.",
    flags: {
      type: { type: 'option', options: ['cms', 'products'] },
      yes: { type: 'boolean', summary: 'Do not [ask].' },
    },
    args: {},
  },
  { id: 'cache:list', flags: { tag: { type: 'option' }, internal: { type: 'boolean', hidden: true } }, args: {} },
  { id: 'completion', flags: {}, args: { shell: { options: ['bash', 'zsh'] } } },
]

/** The words that bash offers at the end of a line. */
function complete(line: string, wordBreaks = ' \t\n"\'><=;|&(:'): string[] {
  const script = `
    ${completionScript('bash', 'pagecache', commands)}
    COMP_WORDBREAKS="$2"; COMP_LINE="$1"; COMP_POINT=\${#COMP_LINE}
    _pagecache
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', line, wordBreaks], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

describe('bash', () => {
  it.each([
    ['pagecache ', ['cache:clear', 'cache:list', 'completion']],
    ['pagecache com', ['completion']],
    ['pagecache cache:clear --', ['--type', '--yes', '--help']],
    ['pagecache cache:clear --type ', ['cms', 'products']],
    ['pagecache cache:clear --yes --type p', ['products']],
    ['pagecache cache:list --', ['--tag', '--help']],
    ['pagecache completion ', ['bash', 'zsh', '--help']],
    ['pagecache nothing ', ['']],
  ])('offers at %j: %j', (line, words) => {
    expect(complete(line)).toEqual(words)
  })

  it('does not repeat the part before a colon', () => {
    expect(complete('pagecache cache:')).toEqual(['clear', 'list'])
    expect(complete('pagecache cache:', ' \t\n')).toEqual(['cache:clear', 'cache:list'])
  })
})

it.each(['zsh', 'fish'] as const)('the %s script has every command, flag and value, and escapes summaries', (shell) => {
  const script = completionScript(shell, 'pagecache', commands)
  expect(script).toMatch(
    shell === 'zsh' ? /'cache\\:clear:Clear the shops cache.'/ : /-a 'cache:clear' -d 'Clear the shops cache.'/,
  )
  expect(script).toContain('cms products')
  expect(script).toContain('Do not ask.')
  expect(script).not.toContain('internal')
})

it('completion prints a script for the built program', async () => {
  const { code, stdout } = await run(['completion', 'bash'])
  expect(code).toBe(0)
  expect(stdout).toContain("'vendor:cache:clear --type') reply='products categories cms listings buybox'")
  const checked = spawnSync('bash', ['-n'], { input: stdout, encoding: 'utf8' })
  expect(checked.stderr).toBe('')
})
