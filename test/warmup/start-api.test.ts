import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run } from '../helpers/cli.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { channels, openShop, origin, useOrigin } from './sitemap-shop.ts'

useOrigin()

describe('over the API', () => {
  let daemon: Awaited<ReturnType<typeof startDaemon>>
  let api: (
    path: string,
    body?: object,
  ) => Promise<{ status: number; value: Record<string, unknown> & { progress: { message: string } | null } }>

  beforeEach(async () => {
    daemon = await startDaemon({
      args: ['--no-workers'],
      config: (url) => ({
        salesChannels: channels(url),
        cache: { types: [{ type: 'listings', path: '/l/*' }], emptyPaths: ['/empty'] },
      }),
    })
    const { clientId, clientSecret } = JSON.parse(
      (await daemon.run('client:create', 'test', '--scope', 'write', '--json')).stdout,
    )
    const token = await fetch(`${daemon.url}/api/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
    })
    const { access_token } = (await token.json()) as { access_token: string }
    api = async (path, body) => {
      const response = await fetch(`${daemon.url}/api/_action/vendor-cache${path}`, {
        headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      })
      return { status: response.status, value: (await response.json()) as never }
    }
  })

  afterEach(() => daemon.stop())

  it('on a cold cache types are matched by path rules; unknown types are taken only on request', async () => {
    openShop(daemon.url, ['/l/1', '/l/2', '/detail/1', '/other'])
    const listings = await api('/warmup/start', { types: ['listings'] })
    expect(listings).toMatchObject({
      status: 200,
      value: { totalUrls: 2, discovery: { otherTypes: 1, unknownType: 1 } },
    })
    expect((await api('/warmup/progress?progressId=')).value.progress).toMatchObject({
      id: listings.value['progressId'],
      message: 'Left out: 1 of other types, 1 of unknown type',
    })
    expect(await api('/warmup/start', { types: ['listings', 'unknown'] })).toMatchObject({
      value: { totalUrls: 3, discovery: { unknownType: 0 } },
    })
    const all = await api('/warmup/start', {})
    expect(all.value).toEqual({ success: true, progressId: expect.any(String), totalUrls: 4 })
    expect((await api('/warmup/watch?progressId=')).value.progress).toMatchObject({
      id: all.value['progressId'],
      message: null,
    })
    expect(await api('/warmup/start', { types: ['unkown'] })).toMatchObject({ status: 400 })
    expect((await api('/warmup/start', { urls: ['/empty', '/other'] })).value).toMatchObject({ totalUrls: 1 })
  })

  it('named URLs are validated like those of a purge, and skipped ones are counted', async () => {
    for (const url of ['http://evil.example/', 'shop', '//evil.example/', 'http://[', 'ftp://x/', ''])
      expect(await api('/warmup/start', { urls: [url] }), url).toMatchObject({ status: 400, value: { success: false } })
    const started = await api('/warmup/start', {
      urls: [`${daemon.url}/a`, '/a', '/checkout/x', `/${'x'.repeat(3000)}`, '/b'],
    })
    expect(started).toMatchObject({
      status: 200,
      value: { totalUrls: 2, discovery: { duplicates: 1, excluded: 1, malformed: 1, foreign: 0 } },
    })
    expect((await api('/warmup/progress')).value.progress!.message).toBe(
      'Left out: 1 never cached or with side effects, 1 malformed, 1 duplicate',
    )
  })
})

it('a daemon started with --origin warms its channel with its own workers', async () => {
  const daemon = await startDaemon({ args: ['--origin', origin.url] })
  try {
    openShop(daemon.url, ['/a', '/b'])
    const { clientId, clientSecret } = JSON.parse(
      (await daemon.run('client:create', 'test', '--scope', 'write', '--json')).stdout,
    )
    const at = ['--server', daemon.url, '--wait', '--json'] as const
    const { code, stdout, stderr } = await run(['warmup:start', ...at], {
      cwd: await tempDir(),
      env: { PAGECACHE_CLIENT_ID: clientId, PAGECACHE_CLIENT_SECRET: clientSecret },
    })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(JSON.parse(stdout)).toMatchObject({ totalUrls: 2, progress: { status: 'completed', processed_urls: 2 } })
  } finally {
    await daemon.stop()
  }
})
