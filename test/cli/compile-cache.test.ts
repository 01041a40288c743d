import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { run, start } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('keeps compiled code in the home directory, not in a shared one', async () => {
  const [home, shared] = [await tempDir(), await tempDir()]
  expect(await run(['cache:stats', '--help'], { env: { HOME: home, TMPDIR: shared }, alone: true })).toMatchObject({
    code: 0,
    stderr: '',
  })
  expect(await readdir(join(home, '.cache', 'pagecache'))).not.toEqual([])
  expect(await readdir(shared)).toEqual([])
})

it("does without a compile cache if the home directory is missing or another user's", async () => {
  const shared = await tempDir()
  // A directory of another user.
  const foreign = process.getuid!() === 0 ? await tempDir() : '/'
  if (process.getuid!() === 0) await promisify(execFile)('chown', ['65534', foreign])
  for (const HOME of [foreign, '/nonexistent'])
    expect(await run(['cache:stats', '--help'], { env: { HOME, TMPDIR: shared }, alone: true })).toMatchObject({
      code: 0,
      stderr: '',
    })
  expect(await readdir(foreign)).not.toContain('.cache')
  expect(await readdir(shared)).toEqual([])
})

describe.runIf(process.platform === 'linux')('a home directory in which nothing can be made', () => {
  // A user's own directory in /proc, where the system reports ENOENT for anything new.
  const HOME = '/proc/self'

  it.each([
    { args: ['--version'], code: 0 },
    { args: ['cache:stats', '--help'], code: 0 },
    { args: ['completion', 'fish', '--install'], code: 1 },
    { args: ['profile:use', '--here'], code: 1 },
  ])('does not stop $args from ending', { timeout: 60_000 }, async ({ args, code }) => {
    const child = start(args, { env: { HOME } })
    onTestFinished(() => void child.kill('SIGKILL'))
    expect(await once(child, 'exit')).toEqual([code, null])
  })
})
