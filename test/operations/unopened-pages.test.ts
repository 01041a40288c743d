import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cacheStatistics, clearApplicationCache, clearPages, listPages } from '../../src/operations/cache.ts'
import { canRunAs, run } from '../helpers/cli.ts'
import { purge } from '../../src/operations/purge.ts'
import { inspectPage } from '../../src/operations/inspect.ts'
import { recentInvalidations } from '../../src/operations/purge-log.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { openApp, projectWithPages } from './pages-project.ts'
import { perform } from './perform.ts'

describe('a page store that cannot be opened', () => {
  const url = 'http://shop.example/p/1'
  const commands = [
    'cache:stats',
    'cache:list',
    `cache:inspect ${url}`,
    'vendor:cache:clear',
    'vendor:cache:clear --type cms',
    'vendor:cache:clear --dry-run',
    'cache:clear',
    'cache:clear --dry-run',
    `purge:url ${url}`,
    'purge:tag a',
    'purge:tag a --soft',
    'purge:tag a --dry-run',
    'purge:entity product 0190c0de000070008000000000000001',
  ]

  /** An unprivileged user. */
  const somebodyElse = 65534

  /** Who runs a command without a right to these pages: for root, somebody else; for anybody else, their closed directory does. */
  async function withoutRights(): Promise<{ cwd: string; uid?: number }> {
    const { app, projectDir } = await projectWithPages()
    await app.close()
    await chmod(projectDir, 0o755)
    if (process.getuid?.() === 0) return { cwd: projectDir, uid: somebodyElse }
    const cache = join(projectDir, 'var/cache')
    await chmod(cache, 0)
    onTestFinished(() => chmod(cache, 0o700))
    return { cwd: projectDir }
  }

  // Root loses its rights by becoming somebody else, who then has to reach the program.
  const canTry = process.getuid?.() !== 0 || canRunAs(somebodyElse)
  if (!canTry)
    console.warn(
      'What commands say for want of rights is left out: no other user may read the directory of this checkout.',
    )

  it.skipIf(!canTry)(
    'for want of rights is said by every command, where and what to do, and is never an empty cache',
    async () => {
      const { cwd, uid } = await withoutRights()
      for (const command of commands) {
        const { code, stdout, stderr } = await run(command.split(' '), {
          cwd,
          env: { HOME: cwd },
          ...(uid === undefined ? {} : { uid }),
        })
        expect(stdout, command).toBe('')
        expect(stderr, command).toMatch(
          /Error: The page store in \S+\/var\/cache\/prod\S* cannot be (opened|written) \(EACCES\)\n\S.*permission/,
        )
        expect(stderr, command).not.toMatch(/ at |itself/)
        expect(code, command).toBe(5)
      }
      const examined = await run(['doctor', '--json'], {
        cwd,
        env: { HOME: cwd },
        ...(uid === undefined ? {} : { uid }),
      })
      const { checks } = JSON.parse(examined.stdout) as {
        checks: { name: string; status: string; remedy: string | null }[]
      }
      expect(checks.find(({ name }) => name === 'page index')).toMatchObject({
        status: 'failed',
        remedy: expect.stringContaining("as the daemon's user") as string,
      })
      expect(examined.code).toBe(1)
    },
  )

  it('is an error of each operation', async () => {
    const projectDir = await tempDir()
    await mkdir(join(projectDir, 'var/cache'), { recursive: true })
    await writeFile(join(projectDir, 'var/cache/prod'), 'a file where the directory should be')
    const app = await openApp(projectDir)
    const refusal = {
      code: 'STORE_UNREADABLE',
      exit: 5,
      message: expect.stringContaining('var/cache/prod') as string,
      hint: expect.any(String) as string,
    }
    for (const dryRun of [true, false]) {
      await expect(perform(app, clearPages, { dryRun })).rejects.toMatchObject(refusal)
      await expect(perform(app, clearApplicationCache, { dryRun })).rejects.toMatchObject(refusal)
    }
    for (const input of [{ tags: ['a'] }, { urls: [url] }, { tags: ['a'], soft: true }, { tags: ['a'], dryRun: true }])
      await expect(perform(app, purge, input)).rejects.toMatchObject(refusal)
    // A rejected purge is not delivered to reverse proxies later either.
    expect(await perform(app, recentInvalidations, {})).toMatchObject({ total: 0 })
    await expect(perform(app, cacheStatistics, {})).rejects.toMatchObject(refusal)
    await expect(perform(app, listPages, {})).rejects.toMatchObject(refusal)
    await expect(perform(app, inspectPage, { url })).rejects.toMatchObject(refusal)
  })
})
