import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { run, start } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const bin = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

describe('standard output', () => {
  it('holds only the value with --json', async () => {
    const cwd = await tempDir()
    for (const command of ['cache:stats', 'cache:list', 'vendor:cache:clear', 'cache:clear', 'config:show', 'doctor']) {
      const { code, stdout } = await run([command, '--json'], { cwd, alone: true })
      expect(JSON.parse(stdout), command).toBeTypeOf('object')
      expect(code, command).toBe(0)
    }
  })

  it('has tab-separated rows without borders in a pipe', async () => {
    const { stdout } = await run(['cache:stats'], { cwd: await tempDir(), alone: true })
    expect(stdout).toContain('pages: 0\n')
    expect(stdout).toContain('type\tpages\tsaved\tgeneration time\thit time\nproducts\t0\t0 B\t-\t-\n')
    expect(stdout).not.toMatch(/[│┌]/)
  })

  it('may be closed early by the reader', async () => {
    const child = start(['--help'])
    child.stdout.once('data', () => child.stdout.destroy())
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number]
    expect(stderr).toBe('')
    expect(code).toBe(0)
  })

  it('may be closed before the first write', async () => {
    const shell = `set -o pipefail; '${process.execPath}' '${bin}' config:show | true`
    const { status, stderr } = spawnSync('bash', ['-c', shell], { cwd: await tempDir(), encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })
})

describe.runIf(existsSync('/dev/full'))('a full disk', () => {
  async function redirected(command: string, redirection: string) {
    const shell = `'${process.execPath}' '${bin}' ${command} ${redirection}`
    return spawnSync('bash', ['-c', shell], { cwd: await tempDir(), encoding: 'utf8' })
  }

  it.each(['cache:stats', 'cache:stats --json', '--help', '--version', 'completion bash'])(
    'fails %s with one sentence and exit code 1',
    async (command) => {
      const { status, stderr } = await redirected(command, '> /dev/full')
      expect(stderr).toMatch(/^Error: Could not write the output: ENOSPC\b.*\n$/)
      expect(status).toBe(1)
    },
  )

  it('affects neither value nor exit code if only stderr is full', async () => {
    const { status, stdout } = await redirected('cache:stats --json --debug', '2> /dev/full')
    expect(JSON.parse(stdout)).toMatchObject({ totalFiles: 0 })
    expect(status).toBe(0)
  })
})

describe('colour', () => {
  const red = '\u001b[31m'

  /** Runs on a pseudo-terminal of 80 columns and returns what was written to it. */
  async function onTerminal(args: string, env: Record<string, string> = {}): Promise<string> {
    const { PATH = '' } = process.env
    const child = spawn('script', ['-qec', `stty columns 80; '${process.execPath}' '${bin}' ${args}`, '/dev/null'], {
      cwd: await tempDir(),
      env: { PATH, TERM: 'xterm-256color', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await once(child, 'close')
    return output
  }

  it('highlights an error on a terminal', async () => {
    expect(await onTerminal('cache:stat')).toContain(`${red}Error:`)
  })

  it('goes with lines that break at spaces', async () => {
    const error = await onTerminal('warmup:start')
    expect(error.replaceAll(/\s+/g, ' ')).toContain('(pagecache init writes an example), or start the daemon with')
    expect(Math.max(...error.split(/\r?\n/).map((line) => line.length))).toBeLessThanOrEqual(80)
  })

  it.each([
    ['--no-color', 'cache:stat --no-color', {}],
    ['NO_COLOR', 'cache:stat', { NO_COLOR: '1' }],
    ['TERM=dumb', 'cache:stat', { TERM: 'dumb' }],
  ])('is off with %s', async (_, args, env: Record<string, string>) => {
    const output = await onTerminal(args, env)
    expect(output).toContain('Error: Unknown command')
    expect(output).not.toContain('\u001b')
  })

  it('is off in a pipe', async () => {
    const { stderr } = await run(['cache:stat'], { alone: true })
    expect(stderr).not.toContain('\u001b')
  })

  it('goes with table borders on a terminal', async () => {
    expect(await onTerminal('scheduled-task:list')).toContain('│ vendor_cache.cleanup_pages')
  })
})

describe('bin/run.js', () => {
  it('parses on an old Node and refuses it in one sentence', async () => {
    const source = (await readFile(bin, 'utf8')).replace(/^#!.*/, '')
    // Dynamic import, of Node 12, is the newest syntax in the file.
    const newerSyntax = /\?\?|\?\.|\|\|=|&&=|#\w+ =|^await /m
    expect(source.replaceAll(/\/\/.*|'[^']*'/g, '')).not.toMatch(newerSyntax)
    const asOld = source
      .replace('process.versions.node', "'20.19.0'")
      .replace('process.version}', "'v20.19.0'}")
      .replaceAll('import.meta', '({})')
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', asOld], { encoding: 'utf8' })
    expect(() => new Script(`(async () => {${asOld}})`)).not.toThrow()
    expect(child.stderr).toBe('pagecache needs Node 22.19 or later; this is v20.19.0.\n')
    expect(child.status).toBe(2)
  })
})
