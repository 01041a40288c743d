import { expect, it, onTestFinished } from 'vitest'
import { startDaemon } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { until } from '../helpers/until.ts'

const id = '0190c0de000070008000000000000001'

it('purges by command while a daemon serves: output, removed pages and logs', async () => {
  const origin = await startOrigin()
  onTestFinished(origin.stop)
  const headers = {
    'cache-control': 'public, s-maxage=600',
    'content-type': 'text/html',
    xkey: `product-${id} navigation`,
  }
  for (const path of ['/shoes/', '/hats/']) origin.on(path, { headers, body: `a page at ${path}` })
  const daemon = await startDaemon({
    config: (url) => ({
      salesChannels: [{ id: '0190c0de-0000-7000-8000-000000000009', url, origin: origin.url }],
      reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: 'http://127.0.0.1:1' }],
    }),
  })
  onTestFinished(async () => void (await daemon.stop()))
  const visit = async (path: string) => (await fetch(daemon.url + path)).headers.get('cache-status')
  const hit = /hit/
  const warm = async () => {
    for (const path of ['/shoes/', '/hats/']) await until(async () => expect(await visit(path)).toMatch(hit))
    // A page is a hit before it is stored, and a command counts stored pages only.
    await until(async () => expect(await run('cache:stats', '--json')).toMatch(/"totalFiles": ?2\b/))
  }
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await daemon.run(...args)
    expect({ args, code, stderr }).toMatchObject({ code: 0, stderr: '' })
    return stdout
  }
  await warm()
  expect(await run('purge:tag', '--dry-run', 'navigation')).toMatch(
    /^2 pages would be removed here\.[^]*queued for varnish-1/,
  )
  expect(await visit('/shoes/')).toMatch(hit)
  expect(await run('purge:url', `${daemon.url}/shoes/?utm_source=x`)).toBe('1 page removed here.\nvarnish-1: queued.\n')
  expect(await visit('/shoes/')).not.toMatch(hit)
  expect(await visit('/hats/')).toMatch(hit)
  await warm()
  expect(await run('purge:entity', 'product', '0190C0DE-0000-7000-8000-000000000001', '--number', 'SW10001')).toMatch(
    /^2 pages/,
  )
  await warm()
  expect(await run('purge:tag', 'navigation', '--soft')).toMatch(/^2 pages stale here/)
  await warm()
  expect(await run('vendor:cache:clear')).toBe('2 files removed.\nvarnish-1: queued.\n')
  expect(await visit('/hats/')).not.toMatch(hit)

  const flow = JSON.parse(await run('reverse-proxy:url-flow', `${daemon.url}/shoes/`, '--json')) as { items: unknown[] }
  expect(flow.items).toMatchObject([
    { kind: 'url', url: `${daemon.url}/shoes/`, source: 'cli', pagesRemoved: 1, proxies: [{ name: 'varnish-1' }] },
    {
      kind: 'entity',
      tag: `product-${id}`,
      entityType: 'product',
      entityId: id,
      entityNumber: 'SW10001',
      pagesRemoved: 2,
    },
    { kind: 'tag', tag: 'navigation', pagesRemoved: 2 },
    { kind: 'all', pagesRemoved: 2 },
  ])
  const timeline = JSON.parse(
    await run('reverse-proxy:entity-timeline', 'product', '--number', 'SW10001', '--json'),
  ) as object
  expect(timeline).toMatchObject({
    success: true,
    entityType: 'product',
    entityId: id,
    entityNumber: 'SW10001',
    items: [{ kind: 'entity' }],
  })
  const urls = JSON.parse(await run('reverse-proxy:urls', '--json')) as object
  expect(urls).toMatchObject({
    total: 2,
    items: expect.arrayContaining([expect.objectContaining({ url: `${daemon.url}/shoes/`, purges: 4 })]) as unknown,
  })
  const log = JSON.parse(await run('invalidation-log:recent', '--json')) as {
    items: { scope: string; pagesRemoved: number }[]
  }
  expect(log.items.map((item) => [item.scope, item.pagesRemoved])).toEqual([
    ['all', 2],
    ['tags', 2],
    ['entity', 2],
    ['urls', 1],
  ])
  const stats = JSON.parse(await run('reverse-proxy:stats', '--json')) as { overview: object; proxies: object[] }
  expect(stats.overview).toMatchObject({ totalPurges: 4, distinctUrls: 2, distinctTags: 2 })
  expect(stats.proxies).toMatchObject([{ name: 'varnish-1' }])
  const tables = (await run('reverse-proxy:stats')).split('\n\n')
  const heads = ['Purges: 4', 'hour\tpurges\tnote', 'tag\tpurges', expect.stringMatching(/^proxy\tstate/) as string]
  expect(tables.map((table) => table.split('\n', 1)[0])).toEqual(heads)
  for (const row of tables[1]!.split('\n').slice(1)) expect(Date.parse(row.split('\t', 1)[0]!)).not.toBeNaN()
  if (process.env['SHOW_OUTPUT'])
    for (const command of ['url-flow', 'recent', 'stats', 'urls'])
      console.log(await run(`reverse-proxy:${command}`, ...(command === 'url-flow' ? [`${daemon.url}/shoes/`] : [])))
  expect(await daemon.run('purge:url', 'http://elsewhere.example/')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/belongs to no sales channel/) as string,
  })
  expect(await daemon.run('purge:entity', 'product', '--number', 'SW2')).toMatchObject({ code: 3 })
  expect(await daemon.run('purge:entity', 'category', id, '--number', 'SW2')).toMatchObject({ code: 2 })
  expect(await daemon.run('purge:tag', 'a b')).toMatchObject({ code: 2 })
  expect(await daemon.run('reverse-proxy:clear')).toMatchObject({ code: 2 })
  expect(JSON.parse(await run('invalidation-log:clear', '--yes', '--json'))).toEqual({ success: true, deleted: 4 })
})
