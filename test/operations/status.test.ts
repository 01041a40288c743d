import { writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { expect, it } from 'vitest'
import { presentStatus } from '../../src/cli/present-status.ts'
import { Output } from '../../src/cli/output.ts'
import { readStatus } from '../../src/operations/status.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { openApp, store } from './pages-project.ts'
import { perform } from './perform.ts'

const id = '0190c0de-0000-7000-8000-000000000001'

async function project() {
  const projectDir = await tempDir()
  const config = {
    salesChannels: [{ id, name: 'Shop', url: 'http://shop.example', origin: 'http://127.0.0.1:1' }],
    reverseProxies: [{ name: 'varnish-1', type: 'varnish', url: 'http://127.0.0.1:1' }],
  }
  await writeFile(join(projectDir, 'pagecache.yaml'), stringify(config))
  return { projectDir, app: await openApp(projectDir) }
}

it('has all parts on one screen', async () => {
  const { app, projectDir } = await project()
  await store(app, 'cms', '/')
  const status = await perform(app, readStatus, {})
  expect(status).toMatchObject({
    daemon: null,
    configuration: { environment: 'prod', projectDir, channels: [{ id, name: 'Shop', url: 'http://shop.example' }] },
    cache: { pages: 1, size: 400 },
    traffic: { lastHour: { requests: 0, cacheable: 0, passes: 0, hitRatio: null } },
    warmup: null,
    queue: { waiting: 0, failed: 0, workers: 0 },
    proxies: [{ name: 'varnish-1', state: 'ok', pending: 0, failed: 0 }],
    nodes: [{ name: hostname(), state: 'gone' }],
    problems: [],
  })
  let text = ''
  presentStatus(status, new Output({ write: (chunk) => (text += chunk) }))
  expect(text).toMatch(/^Daemon: not running\./)
  expect(text).toContain('Sales channel: Shop http://shop.example\n')
  expect(text).toContain('Reverse proxy: varnish-1 ok, 0 pending, 0 failed\n')
  expect(text.split('\n').length).toBeLessThan(24)
})

it.each([
  [{ requests: 5, cacheable: 3, passes: 2, hitRatio: 2 / 3 }, '66.7 % of 3 requests (2 bypassed)'],
  [{ requests: 1, cacheable: 1, passes: 0, hitRatio: 1 }, '100.0 % of 1 request,'],
  [{ requests: 2, cacheable: 0, passes: 2, hitRatio: null }, '- of 0 requests (2 bypassed)'],
])('counts the requests of which it shows the hit ratio: %j', async (amounts, shown) => {
  const { app } = await project()
  const status = await perform(app, readStatus, {})
  let text = ''
  presentStatus(
    { ...status, traffic: { lastHour: amounts, lastDay: amounts } },
    new Output({ write: (chunk) => (text += chunk) }),
  )
  expect(text).toContain(`last hour ${shown}`)
})

it('shows the other parts where one cannot be read, and why', async () => {
  const { app, projectDir } = await project()
  await writeFile(join(projectDir, 'var'), 'not a directory')
  const { cache, traffic, queue, configuration, problems } = await perform(app, readStatus, {})
  expect({ cache, traffic, queue }).toEqual({ cache: null, traffic: null, queue: null })
  expect(configuration.channels).toHaveLength(1)
  expect(problems.length).toBeGreaterThan(0)
})
