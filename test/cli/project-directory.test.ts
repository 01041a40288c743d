import { execFile } from 'node:child_process'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { makeDirectory } from '../../src/lib/make-directory.ts'
import { canRunAs, run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

async function withOddPaths(): Promise<string> {
  const cwd = await tempDir()
  await writeFile(join(cwd, 'file'), 'a: [')
  await symlink('nowhere', join(cwd, 'dangling'))
  await symlink('circle', join(cwd, 'circle'))
  await mkdir(join(cwd, 'taken'))
  await writeFile(join(cwd, 'taken', 'var'), '')
  return cwd
}

const long = 'x'.repeat(5000)

describe('a directory that is a file', () => {
  const pages = ['cache:stats', 'cache:list', 'cache:inspect http://a/', 'vendor:cache:clear', 'cache:clear']
  const records = [
    'warmup:list',
    'messenger:stats',
    'messenger:consume async',
    'reverse-proxy:stats',
    'client:create x',
  ]
  it.each([
    ...[...pages, 'vendor:cache:clear --type products'].map((command) => ['var/cache', command] as const),
    ...[...records, 'messenger:consume', 'vendor:cache:clear'].map((command) => ['var/data', command] as const),
  ])('%s: %s reports one error, exit code 5', async (directory, command) => {
    const cwd = await tempDir()
    await mkdir(join(cwd, 'var'))
    await writeFile(join(cwd, directory), '')
    const { code, stdout, stderr } = await run(command.split(' '), { cwd })
    const [message, hint, ...more] = stderr.trimEnd().split('\n')
    expect(message).toMatch(/^Error: .*ENOTDIR/)
    expect([hint, more, code, stdout]).toEqual([expect.stringMatching(/permission/), [], 5, ''])
  })
})

describe('an unusable path', () => {
  it.each([
    [['--project-dir', 'nothing'], 'There is no project directory'],
    [['--project-dir', 'file'], 'is not a directory.'],
    [['--project-dir', 'file/x'], 'part of its path is a file.'],
    [['--project-dir', 'dangling'], 'There is no project directory'],
    [['--project-dir', 'circle'], 'form a loop.'],
    [['--project-dir', '/dev/null'], 'is not a directory.'],
    [['--project-dir', long], 'its name is too long.'],
    [['--project-dir', ''], '--project-dir is empty.'],
    [['--project-dir', '\u001b[31m'], '\\u{1b}[31m'],
    [['--config', 'nothing'], 'There is no configuration file nothing.'],
    [['--config', 'dangling'], 'There is no configuration file dangling.'],
    [['--config', 'file/x'], 'its directory is a file.'],
    [['--config', 'circle'], 'form a loop.'],
    [['--config', '.'], 'it is a directory.'],
    [['--config', '/dev/zero'], 'it is larger than 1 MB.'],
    [['--config', long], 'its name is too long.'],
    [['--config', ''], '--config is empty.'],
    [['--env', '../x'], '"../x" is not a valid environment name.'],
    [['--env', '..'], 'is not a valid environment name.'],
    [['--env', ''], '"" is not a valid environment name.'],
    [['--env', long], 'is not a valid environment name.'],
    [['--env', 'a\nb\u0007'], '"a\\u{a}b\\u{7}" is not a valid environment name.'],
  ])('is reported at once, exit code 2: %j', async (args, message) => {
    const { code, stdout, stderr } = await run(['warmup:list', ...args], { cwd: await withOddPaths() })
    expect(stderr).toContain(message)
    expect(stderr.length).toBeLessThan(600)
    expect([code, stdout]).toEqual([2, ''])
  })

  it.each([
    ['warmup:list', '/proc/self'],
    ['cache:stats', '/proc/self'],
    ['cache:clear', '/proc/self'],
    ['vendor:cache:clear', '/proc/self'],
    ['client:create', '/proc/self'],
    ['client:rotate-key', '/proc/self'],
    ['warmup:list', 'taken'],
    ['cache:clear', 'taken'],
  ])('%s fails if it cannot write to %s, exit code 5', async (command, directory) => {
    const args = command === 'client:create' ? [command, 'name'] : [command]
    const { code, stdout, stderr } = await run([...args, '--project-dir', directory], { cwd: await withOddPaths() })
    expect(stderr).toMatch(/^Error: .*(ENOENT|ENOTDIR|EEXIST)/m)
    expect([code, stdout]).toEqual([5, ''])
  })

  it('serve ends where nothing can be made, exit 2', async () => {
    const args = ['serve', '--origin', 'http://127.0.0.1:9', '--port', '0', '--project-dir', '/proc/self']
    const { code, stdout, stderr } = await run(args, { cwd: await tempDir(), alone: true })
    expect(stderr).toBe(
      'Error: The directory /proc/self/var/data/prod cannot be made (ENOENT).\nName another project directory with --project-dir or PAGECACHE_PROJECT_DIR.\n',
    )
    expect([code, stdout]).toEqual([2, ''])
  })

  it.runIf(process.getuid?.() === 0 && canRunAs(65534))(
    'fails without write or read permission, exit codes 5 and 2',
    async () => {
      const cwd = await tempDir()
      await chmod(cwd, 0o755)
      expect(await run(['warmup:list'], { cwd, uid: 65534 })).toMatchObject({
        code: 5,
        stderr: expect.stringContaining('EACCES') as string,
      })
      await mkdir(join(cwd, 'closed', 'inner'), { recursive: true })
      await chmod(join(cwd, 'closed'), 0o700)
      expect(await run(['warmup:list', '--project-dir', 'closed/inner'], { cwd, uid: 65534 })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('permission denied') as string,
      })
      expect(await run(['warmup:list', '--config', 'closed/a.yaml'], { cwd, uid: 65534 })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('permission denied') as string,
      })
    },
  )

  it('a configuration may come from a pipe or be empty', async () => {
    const cwd = await tempDir()
    const piped = `echo 'server: { port: 81 }' | "${process.execPath}" "${program}" config:show --config /dev/stdin`
    expect((await promisify(execFile)('sh', ['-c', piped], { cwd })).stdout).toContain('server.port\t81\t/dev/stdin:1')
    expect(await run(['warmup:list', '--config', '/dev/null'], { cwd })).toMatchObject({ code: 0 })
  })
})

it('directories are made down to the last one, and what stands in the way is thrown', async () => {
  const directory = await tempDir()
  makeDirectory(join(directory, 'a', 'b', 'c'), 0o700)
  makeDirectory(join(directory, 'a', 'b', 'c'), 0o700)
  await writeFile(join(directory, 'file'), '')
  await symlink('nowhere', join(directory, 'dangling'))
  expect(() => makeDirectory(join(directory, 'file'), 0o700)).toThrow(/EEXIST/)
  expect(() => makeDirectory(join(directory, 'file', 'x'), 0o700)).toThrow(/ENOTDIR/)
  expect(() => makeDirectory(join(directory, 'dangling'), 0o700)).toThrow(/ENOENT/)
  expect(() => makeDirectory('/proc/self/var/data', 0o700)).toThrow(/ENOENT/)
})
