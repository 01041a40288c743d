import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { shareStorefronts } from './storefront.ts'

const openStorefront = shareStorefronts()

/** The database opened without our code: the schema itself enforces the rules. */
async function withEvent() {
  const shop = await openStorefront({ customerHeader: 'x-customer' }, { trustedProxies: ['127.0.0.1'] })
  const stage = await shop.stage()
  await shop.track(
    { popupId: stage.id, eventType: 'close', pageType: 'cms', requestUrl: '/a' },
    { 'x-customer': 'c-1' },
  )
  const database = new Database(join(shop.projectDir, 'var/data/prod/records.sqlite'))
  database.pragma('foreign_keys = ON')
  return { shop, stage, database }
}

describe('the event log', () => {
  it.each([
    "event_type = 'impression'",
    'created_at = created_at + 1',
    "request_url = '/b'",
    'request_url = null',
    'page_type = null',
    "customer_id = 'c-2'",
    "customer_id = null, page_type = 'x'",
    "id = 'other'",
    'customer_id = customer_id',
  ])('rejects setting %s', async (change) => {
    const { database } = await withEvent()
    try {
      expect(() => database.exec(`update vendor_stage_event set ${change}`)).toThrow(/never changed/)
    } finally {
      database.close()
    }
  })

  const columns = 'id, popup_id, event_type, sales_channel_id, customer_id, page_type, request_url, created_at'
  const again = `select id, popup_id, 'impression', sales_channel_id, customer_id, page_type, request_url, created_at from vendor_stage_event where true`

  it.each([
    `insert or replace into vendor_stage_event (${columns}) ${again}`,
    `replace into vendor_stage_event (${columns}) ${again}`,
    `insert or ignore into vendor_stage_event (${columns}) ${again}`,
    `insert into vendor_stage_event (${columns}) ${again} on conflict (id) do update set event_type = 'impression'`,
    `insert into vendor_stage_event (${columns}) ${again} on conflict (id) do update set customer_id = null`,
    `update or replace vendor_stage_event set event_type = 'impression'`,
  ])('rejects replacing an event: %s', async (statement) => {
    const { shop, database } = await withEvent()
    const before = await shop.events()
    try {
      for (const recursive of ['on', 'off']) {
        database.pragma(`recursive_triggers = ${recursive}`)
        expect(() => database.exec(statement)).toThrow(/never changed/)
      }
      expect(await shop.events()).toEqual(before)
    } finally {
      database.close()
    }
  })

  it('allows erasing a customer, once', async () => {
    const { shop, database } = await withEvent()
    database.exec('update vendor_stage_event set customer_id = null')
    expect((await shop.events())[0]).toMatchObject({ customer_id: null, event_type: 'close' })
    expect(() => database.exec("update vendor_stage_event set customer_id = 'c-3'")).toThrow(/never changed/)
    database.close()
  })

  it('accepts only the four event types, existing stages and existing channels', async () => {
    const { stage, database } = await withEvent()
    const insert = (popup: string, type: string, channel: string) =>
      database
        .prepare(
          'insert into vendor_stage_event (id, popup_id, event_type, sales_channel_id, created_at) values (?, ?, ?, ?, 1)',
        )
        .run(`${popup}${type}`, popup, type, channel)
    const { id } = database.prepare('select id from sales_channel').get() as { id: string }
    expect(() => insert(stage.id, 'hover', id)).toThrow(/CHECK/)
    expect(() => insert('unknown', 'close', id)).toThrow(/FOREIGN KEY/)
    expect(() => insert(stage.id, 'close', 'unknown')).toThrow(/FOREIGN KEY/)
    expect(() => database.prepare('delete from vendor_stage').run()).toThrow(/FOREIGN KEY/)
    database.close()
  })
})

describe('stored visitor data', () => {
  it('includes no address, user agent or session, in databases or logs', async () => {
    const shop = await openStorefront({ customerHeader: 'x-customer' }, { trustedProxies: ['127.0.0.1'] })
    const stage = await shop.stage({ frequency: 'once' })
    const canaries = ['203.0.113.77', 'CanaryBrowser', 'canary-referer', 'Canary-Language', 'CanarySessionCanary0-_']
    const headers = {
      'x-forwarded-for': '203.0.113.77',
      'user-agent': 'CanaryBrowser/1.0',
      referer: 'https://canary-referer.example/',
      'accept-language': 'Canary-Language',
      cookie: 'vendor-stage-session=CanarySessionCanary0-_; other=canary-referer',
    }
    const body = { popupId: stage.id, eventType: 'impression', ip: '203.0.113.77', agent: 'CanaryBrowser' }
    expect((await shop.track(body, headers)).status).toBe(200)
    expect((await shop.track({ ...body, popupId: 'CanaryBrowser' }, headers)).status).toBe(400)
    const given = await shop.track(body, { 'user-agent': 'CanaryBrowser/1.0' })
    const session = /vendor-stage-session=([\w-]+)/.exec(given.headers.getSetCookie().join())![1]!
    expect(await shop.events()).toHaveLength(2)
    await shop.app
      .records()
      .then(({ db }) => db.selectFrom('vendor_stage_session').selectAll().execute())
      .then((rows) => expect(rows).toHaveLength(2))
    const directory = join(shop.projectDir, 'var')
    const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    expect(files.length).toBeGreaterThan(1)
    const stored =
      files.map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString('latin1')).join('\n') +
      shop.log.join('\n')
    expect(stored).toContain(stage.id)
    for (const canary of [...canaries, session]) expect(stored).not.toContain(canary)
  })

  it('does not link a session to an event, by time or by order', async () => {
    const shop = await openStorefront()
    const stage = await shop.stage()
    await shop.track({ popupId: stage.id, eventType: 'impression' })
    const [row] = await shop.records.db.selectFrom('vendor_stage_session').selectAll().execute()
    expect(Object.keys(row!).toSorted()).toEqual(['expires_at', 'popup_id', 'session', 'shows'])
    expect(row!.expires_at % (24 * 3_600_000)).toBe(0)
  })
})
