import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { addressBlock } from '../../src/lib/address-block.ts'
import { openRateLimit } from '../../src/stages/rate-limit.ts'
import { openTracker } from '../../src/stages/tracker.ts'
import { exchange } from '../helpers/exchange.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { channelId, startStorefront } from './storefront.ts'

describe('while another process holds the database', () => {
  it('only events wait', async () => {
    const shop = await startStorefront()
    const stage = await shop.stage()
    await shop.track({ popupId: stage.id, eventType: 'close' })
    const other = new Database(join(shop.projectDir, 'var/data/prod/records.sqlite'))
    other.exec('begin immediate')
    let answered = false
    const waiting = shop.track({ popupId: stage.id, eventType: 'close' }).then((answer) => {
      answered = true
      return answer.status
    })
    for (let page = 0; page < 20; page += 1) expect((await exchange(`${shop.url}/page/${page}`)).status).toBe(200)
    expect(answered).toBe(false)
    other.exec('commit')
    other.close()
    expect(await waiting).toBe(200)
    expect(await shop.events()).toHaveLength(2)
  })
})

describe('the tracker', () => {
  const event = {
    popupId: 'x',
    type: 'close' as const,
    salesChannelId: channelId,
    customerId: null,
    pageType: null,
    requestUrl: null,
    at: 1,
    session: null,
    counted: true,
  }

  it('reports why nothing can be written, and retries with the next event', async () => {
    const directory = join(await tempDir(), 'state')
    // A file in place of the directory.
    await writeFile(directory, '')
    const tracker = openTracker({ directory, channels: [] })
    await expect(tracker.track(event)).rejects.toMatchObject({ code: 'STORE_FULL' })
    await rm(directory)
    expect(await tracker.track(event)).toBe('unknown')
    await tracker.close()
  })

  it('writes pending events before it closes, and rejects new ones', async () => {
    const shop = await startStorefront()
    const stage = await shop.stage()
    const tracker = openTracker({
      directory: join(shop.projectDir, 'var/data/prod'),
      channels: [{ id: channelId, name: 'English', url: shop.url }],
    })
    const written = Array.from({ length: 1500 }, () => tracker.track({ ...event, popupId: stage.id }))
    await tracker.close()
    expect(new Set(await Promise.all(written))).toEqual(new Set(['recorded']))
    await expect(tracker.track(event)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  })
})

describe('the rate limit', () => {
  it('lets a burst through, then the configured rate, separately for each key', () => {
    const limit = openRateLimit('test', 2, null, () => 0)
    const taken = (key: string, now: number, times: number) =>
      Array.from({ length: times }, () => limit.take(key, now)).filter(Boolean).length
    expect(taken('a', 0, 50)).toBe(20)
    expect(taken('a', 1000, 50)).toBe(2)
    expect(taken('b', 1000, 50)).toBe(20)
    expect(taken('a', 60_000, 50)).toBe(20)
  })

  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0db8::0002:0:0:0:1', '2001:db8:0:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('%s is of %s', (address, block) => {
    expect(addressBlock(address)).toBe(block)
  })
})
