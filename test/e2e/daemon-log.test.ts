import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort, startDaemon } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { openShop, page } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'

const id = '0190c0de-0000-7000-8000-000000000001'

describe('the log', () => {
  it('has one JSON object per line with path and result, and nothing about the visitor', async () => {
    const shop = await openShop({ config: { log: { access: true } } })
    onTestFinished(() => shop.close())
    const headers = {
      Cookie: 'session=canary-cookie',
      Authorization: 'Bearer canary-token',
      'User-Agent': 'canary-agent',
    }
    await shop.ask('/page?email=canary-query', { headers })
    await shop.ask('/plain')
    await shop.ask('/plain')
    await until(() => shop.daemon.logs().split('"path":"/plain"').length === 3)
    const lines = shop.daemon
      .logs()
      .trim()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line) as {
            level: string
            time: string
            msg: string
            request?: { path: string; result: string; id: string; status: number; ms: number; totalMs: number }
          },
      )
    const requests = lines.flatMap(({ request }) => request ?? [])
    expect(requests.find(({ path }) => path === '/page')).toMatchObject({ status: 200 })
    expect(requests.filter(({ path }) => path === '/plain').map(({ result }) => result)).toEqual(['miss', 'hit'])
    expect(new Set(requests.map((request) => request.id)).size).toBe(requests.length)
    for (const { ms, totalMs } of requests) expect(`${ms} ${totalMs}`).toMatch(/^\d+(\.\d{1,2})? \d+(\.\d{1,2})?$/)
    expect(shop.daemon.logs()).not.toMatch(/canary/)
  })

  it('masks passwords in origin URLs', async () => {
    const origin = await startOrigin({ otherwise: page('a') })
    onTestFinished(() => origin.stop())
    const port = await freePort()
    const daemon = await startDaemon({
      port,
      config: (url) => ({ salesChannels: [{ id, url, origin: origin.url.replace('//', '//user:canary@') }] }),
    })
    onTestFinished(async () => void (await daemon.stop()))
    expect(daemon.logs()).toContain('***@')
    expect(daemon.logs()).not.toContain('canary')
  })

  it('has one warning about unknown environment variables', async () => {
    const daemon = await startDaemon({ env: { PAGECACHE_CACHE_MEMORI: '1GB', PAGECACHE_NONSENSE: '1' } })
    onTestFinished(async () => void (await daemon.stop()))
    const lines = daemon.logs().split('\n')
    const warnings = lines.filter((line) => line.includes('PAGECACHE_'))
    expect(warnings).toHaveLength(1)
    expect(JSON.parse(warnings[0]!)).toMatchObject({
      level: 'warn',
      msg: expect.stringMatching(
        /PAGECACHE_CACHE_MEMORI \(did you mean PAGECACHE_CACHE_MEMORY\?\), PAGECACHE_NONSENSE/,
      ) as string,
    })
  })
})
