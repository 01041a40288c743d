import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { completionScript, type CompletableCommand } from '../../src/cli/completion.ts'
import { completeValues } from '../../src/cli/completion-values.ts'
import type { Performer } from '../../src/operations/operation.ts'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'

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
  { id: 'completion:values', hidden: true, flags: {}, args: {} },
  { id: 'stage:show', flags: {}, args: { id: {} } },
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
    ['pagecache ', ['cache:clear', 'cache:list', 'stage:show', 'completion']],
    ['pagecache com', ['completion']],
    ['pagecache cache:clear --', ['--type', '--yes', '--help']],
    ['pagecache cache:clear --type ', ['cms', 'products']],
    ['pagecache cache:clear --yes --type p', ['products']],
    ['pagecache cache:list --', ['--tag', '--help']],
    ['pagecache completion ', ['bash', 'zsh', '--help']],
    ['pagecache nothing ', ['']],
    ['pagecache cache ', ['clear', 'list']],
    ['pagecache cache l', ['list']],
    ['pagecache cache clear --', ['--type', '--yes', '--help']],
    ['pagecache cache clear --yes --type p', ['products']],
  ])('offers at %j: %j', (line, words) => {
    expect(complete(line)).toEqual(words)
  })

  it('does not repeat the part before a colon', () => {
    expect(complete('pagecache cache:')).toEqual(['clear', 'list'])
    expect(complete('pagecache cache:', ' \t\n')).toEqual(['cache:clear', 'cache:list'])
  })
})

/** A program that offers two values and writes down how it was called. */
async function program(): Promise<{ directory: string; calls(): Promise<string> }> {
  const directory = await tempDir()
  const script = `#!/bin/sh\nprintf '%s\\n' "$*" >> ${directory}/calls\nprintf 'tag:one\\tfirst\\ntag-two\\t\\n'\n`
  await writeFile(join(directory, 'pagecache'), script, { mode: 0o755 })
  return { directory, calls: () => readFile(join(directory, 'calls'), 'utf8').catch(() => '') }
}

function has(shell: string): boolean {
  return spawnSync(shell, ['-c', 'true']).status === 0
}

describe('values from the state', () => {
  it.each([
    ['pagecache cache:list --env staging --tag t', ['tag:one', 'tag-two'], 'tags t cache:list --env staging --tag t'],
    ['pagecache stage:show ', ['tag:one', 'tag-two', '--help'], 'stages  stage:show '],
    ['pagecache stage show t', ['tag:one', 'tag-two'], 'stages t stage:show t'],
    ['pagecache stage:show --', ['--help'], ''],
    ['pagecache cache:clear --type ', ['cms', 'products'], ''],
  ])('are offered by bash at %j', async (line, words, call) => {
    const { directory, calls } = await program()
    const script = `PATH=${directory}:$PATH
      ${completionScript('bash', 'pagecache', commands)}
      COMP_LINE="$1"; COMP_POINT=\${#COMP_LINE}
      _pagecache
      printf '%s\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', line], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(stdout.trim().split('\n').toSorted()).toEqual(words.toSorted())
    expect((await calls()).trim()).toBe(call && `completion:values ${call}`.trim())
  })

  it.skipIf(!has('fish'))('are offered by fish with what they stand for', async () => {
    const { directory } = await program()
    const script = `set -x PATH ${directory} $PATH; ${completionScript('fish', 'pagecache', commands)}; complete -C 'pagecache cache:list --tag t'`
    const { stdout } = spawnSync('fish', ['-N', '-c', script], { encoding: 'utf8' })
    expect(stdout).toContain('tag:one\tfirst')
  })

  it.skipIf(!has('fish')).each([
    ['cache ', 'clear\tClear the shops cache.\nlist\n'],
    ['cache clear --type ', 'cms\nproducts\n'],
    ['stage show t', 'tag:one\tfirst\ntag-two\n'],
  ])('are offered by fish for a topic with a blank: %j', async (line, offers) => {
    const { directory } = await program()
    const script = `set -x PATH ${directory} $PATH; ${completionScript('fish', 'pagecache', commands)}; complete -C 'pagecache ${line}'`
    expect(spawnSync('fish', ['-N', '-c', script], { encoding: 'utf8' }).stdout).toBe(offers)
  })

  it.skipIf(!has('zsh')).each([
    ['cache ""', ['clear', 'list']],
    ['cache clear --type ""', ['cms', 'products']],
    ['stage show t', ['tag\\:one:first']],
  ])('are offered by zsh for a topic with a blank: %j', async (words, offers) => {
    const { directory } = await program()
    const script = `PATH=${directory}:$PATH; compdef() { }; _describe() { print -rl -- "$1" "\${(@P)2}" }; compadd() { print -rl -- "$@" }
      ${completionScript('zsh', 'pagecache', commands)}
      words=(pagecache ${words}); CURRENT=$#words; _pagecache`
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', script], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(offers))
  })

  it.skipIf(!has('zsh'))('are offered by zsh with what they stand for', async () => {
    const { directory } = await program()
    const script = `PATH=${directory}:$PATH; compdef() { }; _describe() { print -rl -- "$1" "\${(@P)2}" }; compadd() { }
      ${completionScript('zsh', 'pagecache', commands)}
      words=(pagecache cache:list --tag t); CURRENT=4; _pagecache`
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', script], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(['value', 'tag\\:one:first']))
  })
})

it.each(['', 'st'])('offers profiles while the value %j of --profile is being typed', async (typed) => {
  const cwd = await tempDir()
  const profile = '{ server: "http://a", clientId: 0190c0de-0000-7000-8000-000000000002, clientSecretFile: a }'
  await writeFile(join(cwd, 'pagecache.yaml'), `profiles: { staging: ${profile} }\n`)
  const words = ['profiles', typed, 'cache:list', '--profile', typed]
  expect((await run(['completion:values', ...words], { cwd })).stdout).toBe('staging\thttp://a\n')
})

it('offers no value that a daemon has hidden in the description of another one', async () => {
  const items = [{ clientId: 'abc', name: 'Deploy\n$(touch canary)\tx' }]
  const performer = { perform: () => Promise.resolve({ items }) } as unknown as Performer
  const offers = await completeValues({ performer, app: null }, 'clients', 'a')
  expect(offers).toEqual([{ value: 'abc', description: 'Deploy\\u{a}$(touch canary)\\u{9}x' }])
})

describe('completion --install', () => {
  it.each([
    ['bash', '.bashrc', 'eval "$(pagecache completion bash)"'],
    ['zsh', '.zshrc', 'eval "$(pagecache completion zsh)"'],
    ['fish', '.config/fish/completions/pagecache.fish', 'pagecache completion fish | source'],
  ])('adds one line for %s, once, and keeps the rest', async (shell, file, line) => {
    const home = await tempDir()
    const install = (...args: string[]) =>
      run(['completion', ...args, '--install'], { env: { HOME: home, SHELL: `/usr/bin/${shell}` } })
    if (shell !== 'fish') await writeFile(join(home, file), 'alias a=b')
    expect(await install()).toMatchObject({ code: 0, stderr: expect.stringContaining(join(home, file)) as string })
    expect(await install(shell)).toMatchObject({ code: 0, stderr: expect.stringContaining('already has it') as string })
    const text = await readFile(join(home, file), 'utf8')
    expect(text.split(line)).toHaveLength(2)
    if (shell !== 'fish') expect(text).toMatch(/^alias a=b\n/)
  })

  it('names the line to add where the file cannot be written, and the shells where none is known', async () => {
    const home = await tempDir()
    await writeFile(join(home, 'file'), '')
    const env = { HOME: join(home, 'file'), SHELL: '/bin/bash' }
    expect(await run(['completion', '--install'], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Add this line to it: ') as string,
    })
    expect(await run(['completion'], { env: { SHELL: '/bin/tcsh' } })).toMatchObject({ code: 2 })
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
