import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { App } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import { readTraffic } from '../../src/operations/traffic.ts'
import { liveTraffic } from '../../src/operations/traffic-live.ts'
import { amountColumns, type TrafficAmounts } from '../../src/records/traffic-rows.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { perform } from './perform.ts'

const id = '0190c0de-0000-7000-8000-000000000001'

async function openApp(): Promise<App> {
  const projectDir = await tempDir()
  const shop = { id, name: 'Shop', url: 'http://shop.example', origin: 'http://127.0.0.1:1' }
  await writeFile(join(projectDir, 'pagecache.yaml'), JSON.stringify({ salesChannels: [shop] }))
  const app = new App({ loaded: await loadConfig({ projectDir }), onWarning: () => {} })
  onTestFinished(() => app.close())
  return app
}

const unknown = { code: 'NOT_FOUND', hint: `Configured: ${id} (Shop).` }

it('reads the traffic of a configured sales channel and of a removed one, and knows no other', async () => {
  const app = await openApp()
  const amounts = Object.fromEntries(amountColumns.map((name) => [name, 1])) as TrafficAmounts
  const start = Math.floor(app.now() / 60_000)
  const { db } = await app.records()
  const row = { start, channel_id: 'removed', type: 'products', result: 'hit', ...amounts } as const
  await db.insertInto('traffic_minutes').values(row).execute()
  const requestsOf = async (salesChannelId: string) =>
    (await perform(app, readTraffic, { last: '1h', salesChannelId })).totals.requests
  expect([await requestsOf(id), await requestsOf('removed'), await requestsOf('')]).toEqual([0, 1, 1])
  await expect(requestsOf('typo')).rejects.toMatchObject(unknown)
})

it('does not wait for requests of an unknown sales channel', async () => {
  await expect(perform(await openApp(), liveTraffic, { salesChannelId: 'typo' })).rejects.toMatchObject(unknown)
})
