import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { run } from '../helpers/cli.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

const reverseProxies = [{ name: 'varnish-1', type: 'varnish', url: 'http://127.0.0.1:1' }]
const noWorker =
  'Warning: No worker is running, so varnish-1 will not be purged. Start pagecache messenger:consume async, or serve without --no-workers.\n'

async function project(config: object = {}) {
  const cwd = await tempDir()
  await writeFile(join(cwd, 'pagecache.yaml'), JSON.stringify(config))
  return (...args: string[]) => run(args, { cwd })
}

it.each([
  'cache:clear --no-warmup --no-optional-warmers --env=prod --no-debug -n',
  'cache:clear -e prod -q --no-interaction',
  'vendor:cache:clear --env prod -n -vv',
  'vendor:cache:clear --type products --no-interaction --yes --no-ansi',
  'messenger:stop-workers -n -q --ansi',
  'messenger:stats -vvv -n',
  'messenger:consume async scheduler --time-limit=1 --limit=1 --sleep=1 -vv -n -q',
  'messenger:failed:show -n --no-ansi',
  'messenger:failed:retry --force -n',
  'messenger:failed:remove --all --force -n',
  'scheduled-task:list -n --no-debug',
  'scheduled-task:run --no-wait -n -q',
  'scheduled-task:run-single vendor_cache.cleanup_pages -n --yes',
  'scheduled-task:schedule vendor_cache.cleanup_pages -f -n',
  'scheduled-task:deactivate vendor_cache.cleanup_pages -n',
])('a copied line works: %s', async (line) => {
  const pagecache = await project()
  const { code, stdout, stderr } = await pagecache(...line.split(' '))
  expect({ code, stderr: stderr.replace(/^(\[OK\]|\/\/) .*\n/gm, '') }).toEqual({ code: 0, stderr: '' })
  expect(stdout === '').toBe(/ -q\b/.test(line))
})

it('what has to be confirmed is refused without --yes, and -q leaves errors', async () => {
  const pagecache = await project()
  expect(await pagecache('messenger:failed:retry', '-n', '-q')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('Add --yes') as string,
  })
})

it.each([['cache:clear'], ['vendor:cache:clear'], ['vendor:cache:clear', '--type', 'products'], ['purge:tag', 'a']])(
  '%s %s %s names the proxies and reports that no worker is running',
  async (...command) => {
    const pagecache = await project({ reverseProxies })
    const { code, stdout, stderr } = await pagecache(...command)
    expect({ code, stderr }).toEqual({ code: 0, stderr: noWorker })
    expect(stdout).toMatch(/^0 (files|pages) removed.*\nvarnish-1: queued\.\n$/)
    const value = JSON.parse((await pagecache(...command, '--json')).stdout) as object
    expect(value).toMatchObject({
      success: true,
      proxies: [{ name: 'varnish-1', status: 'pending' }],
      warning: expect.stringContaining('No worker is running') as string,
    })
    expect((await pagecache(...command, '--dry-run')).stdout).toContain('Would be queued for varnish-1.')
  },
)

it('with a worker nothing is warned of; the clears of the pages and of the whole cache can be told apart in both logs', async () => {
  const daemon = await startDaemon({ config: { reverseProxies } })
  try {
    // The daemon answers before its worker has joined the queue.
    await until(async () => expect(await daemon.run('cache:clear', '--dry-run')).toMatchObject({ stderr: '' }))
    for (const command of ['cache:clear', 'vendor:cache:clear'])
      expect(await daemon.run(command)).toMatchObject({ code: 0, stderr: '' })
    await daemon.run('vendor:cache:clear', '--type', 'products')
    const { stdout } = await daemon.run('invalidation-log:recent', '--json')
    expect((JSON.parse(stdout) as { items: object[] }).items).toMatchObject([
      { scope: 'type', value: 'products' },
      { scope: 'all', value: null },
      { scope: 'all', value: 'application-cache' },
    ])
    const recent = await daemon.run('reverse-proxy:recent', '--json')
    expect((JSON.parse(recent.stdout) as { items: object[] }).items).toMatchObject([
      { kind: 'type', type: 'products', value: null },
      { kind: 'all', type: null, value: null },
      { kind: 'all', type: null, value: 'application-cache' },
    ])
    const rows = (await daemon.run('reverse-proxy:recent')).stdout.split('\n').slice(1, 4)
    expect(rows.map((row) => row.split('\t')[2])).toEqual(['products', '-', 'application-cache'])
    // The proxy is down, so its purges are pending.
    expect(JSON.parse((await daemon.run('reverse-proxy:clear', '--yes', '--json')).stdout)).toEqual({
      success: true,
      deleted: 3,
    })
    expect(JSON.parse((await daemon.run('reverse-proxy:recent', '--json')).stdout)).toMatchObject({
      total: 0,
      items: [],
    })
    // A few attempts have to fail first.
    await until(async () =>
      expect(JSON.parse((await daemon.run('reverse-proxy:stats', '--json')).stdout)).toMatchObject({
        overview: { totalPurges: 0 },
        proxies: [{ name: 'varnish-1', pending: 3, state: 'down' }],
      }),
    )
  } finally {
    await daemon.stop()
  }
})
