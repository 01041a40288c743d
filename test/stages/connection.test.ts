import { join } from 'node:path'
import { connect } from 'node:net'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { read, speak, type WireAnswer } from '../http/front/wire.ts'
import { startStorefront } from './storefront.ts'
import { until } from '../helpers/until.ts'

const uuid = '0190c0de-0000-7000-8000-00000000dead'

function portOf({ url }: { url: string }): number {
  return Number(new URL(url).port)
}

function event(
  shop: { url: string },
  body: string,
  fields: readonly string[] = [],
  path = '/vendor-stage/track',
): [head: string, body: string] {
  const length = Buffer.byteLength(body)
  return [
    `POST ${path} HTTP/1.1\r\nHost: ${new URL(shop.url).host}\r\nContent-Length: ${length}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`,
    Buffer.from(body).toString('latin1'),
  ]
}

/** The response without headers that vary between requests. */
function comparable({ status, headers, body }: WireAnswer) {
  const { date, connection: _, 'keep-alive': __, 'set-cookie': cookie, ...rest } = headers
  return {
    status,
    body,
    headers: rest,
    date: date !== undefined,
    cookie: cookie?.replace(/=[\w-]{22};/, '=<session>;'),
  }
}

describe('an event in one packet, read directly from the socket', () => {
  it('is answered and recorded like one read by Node', async () => {
    const shop = await startStorefront(
      { requireOrigin: false, customerHeader: 'x-customer' },
      { trustedProxies: ['127.0.0.1'] },
    )
    const [always, once] = [await shop.stage(), await shop.stage({ frequency: 'once' })]
    const json = (value: object) => JSON.stringify({ popupId: always.id, eventType: 'impression', ...value })
    const type = 'Content-Type: application/json'
    const requests = [
      event(shop, json({ pageType: 'päge' }), [type]),
      event(shop, json({ popupId: once.id }), [type, 'Cookie: vendor-stage-session=AAAAAAAAAAAAAAAAAAAAAA']),
      event(shop, json({ eventType: 'close' }), [
        'Content-Type: text/plain;charset=UTF-8',
        'X-Customer: c-1',
        'X-Forwarded-For: 203.0.113.9',
      ]),
      event(shop, json({ eventType: 'permanent_dismiss' }), ['X-Forwarded-Proto: http'], '/de/vendor-stage/track?x=1'),
      event(shop, json({}), [type, 'User-Agent: Googlebot/2.1']),
      event(shop, json({}), [type, 'Sec-Purpose: prefetch']),
      event(shop, json({}), [type, 'Origin: http://evil.example']),
      event(shop, json({}), [type, `Origin: ${shop.url}`]),
      event(shop, json({}), ['Content-Type: text/html']),
      event(shop, json({ popupId: uuid }), [type]),
      event(shop, json({ eventType: 'nothing' }), [type]),
      event(shop, '{"popupId":', [type]),
      event(shop, '', [type]),
      event(shop, '\xff', [type]),
    ]
    const ask = async (split: boolean) => {
      const answers = []
      for (const [head, body] of requests)
        answers.push(
          (await speak(portOf(shop), split ? [head, body] : head + body, { answers: 1 })).answers.map(comparable),
        )
      const events = await shop.events()
      await shop.records.db.deleteFrom('vendor_stage_event').execute()
      return { answers, events: events.map((event) => ({ ...event, id: null, created_at: null })) }
    }
    const [short, long] = [await ask(false), await ask(true)]
    expect(short).toEqual(long)
    expect(short.answers.flat().map(({ status }) => status)).toEqual([
      200, 200, 200, 200, 200, 200, 403, 200, 400, 404, 400, 400, 400, 400,
    ])
    expect(short.events.map(({ customer_id }) => customer_id)).toContain('c-1')
  })

  it('leaves the connection usable for an event, a page, a purge and another event', async () => {
    const shop = await startStorefront()
    const stage = await shop.stage()
    const { host } = new URL(shop.url)
    const close = event(shop, JSON.stringify({ popupId: stage.id, eventType: 'close' }), [
      'Content-Type: application/json',
    ]).join('')
    const { answers, rest } = await speak(
      portOf(shop),
      [
        close,
        `GET /page HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
        close,
        `PURGE /page HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
        close,
      ],
      { answers: 5 },
    )
    expect(answers.map(({ status, body }) => [status, body.slice(0, 16)])).toEqual([
      [200, '{"success":true}'],
      [200, 'a page'],
      [200, '{"success":true}'],
      [200, 'Purged'],
      [200, '{"success":true}'],
    ])
    expect(rest).toBe('')
    expect(await shop.events()).toHaveLength(3)
  })

  it('is answered before later requests on the connection, however long it takes', async () => {
    const shop = await startStorefront()
    const stage = await shop.stage()
    await shop.track({ popupId: stage.id, eventType: 'close' })
    const other = new Database(join(shop.projectDir, 'var/data/prod/records.sqlite'))
    other.exec('begin immediate')
    const close = event(shop, JSON.stringify({ popupId: stage.id, eventType: 'close' })).join('')
    const spoken = speak(portOf(shop), [close, `GET /page HTTP/1.1\r\nHost: ${new URL(shop.url).host}\r\n\r\n`], {
      answers: 2,
    })
    // Another visitor gets a page while the event waits.
    await speak(portOf(shop), `GET /other HTTP/1.1\r\nHost: ${new URL(shop.url).host}\r\n\r\n`, { answers: 1 })
    other.exec('commit')
    other.close()
    expect((await spoken).answers.map(({ body }) => body.slice(0, 16))).toEqual(['{"success":true}', 'a page'])
  })

  it('is answered although the sender has half-closed the connection, like a purge', async () => {
    const shop = await startStorefront()
    const stage = await shop.stage()
    const { host } = new URL(shop.url)
    const last = async (bytes: string) => {
      const socket = connect(portOf(shop), '127.0.0.1')
      const spoken = read(socket)
      socket.end(bytes)
      const { answers, rest, closed } = await spoken
      return [answers.map(({ status, body }) => [status, body.slice(0, 16)]), rest, closed]
    }
    const close = event(shop, JSON.stringify({ popupId: stage.id, eventType: 'close' })).join('')
    const ban = `BAN /none HTTP/1.1\r\nHost: ${host}\r\n\r\n`
    const taken = [200, '{"success":true}']
    expect(await last(close)).toEqual([[taken], '', true])
    expect(await last(`${ban}${ban}${close}`)).toEqual([
      [[200, expect.any(String)], [200, expect.any(String)], taken],
      '',
      true,
    ])
    // Node fetches pages, and treats a half-closed connection as a visitor who has left.
    expect(await last(`${ban}GET /page HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toEqual([
      [[200, expect.any(String)]],
      '',
      true,
    ])
    expect(await shop.events()).toHaveLength(2)
  })

  it('is answered when the daemon is stopped meanwhile, and its connection closes afterwards', async () => {
    const shop = await startStorefront()
    const stage = await shop.stage()
    await shop.track({ popupId: stage.id, eventType: 'close' })
    const other = new Database(join(shop.projectDir, 'var/data/prod/records.sqlite'))
    other.exec('begin immediate')
    const socket = connect(portOf(shop), '127.0.0.1')
    const spoken = read(socket)
    await new Promise((resolve) =>
      socket.write(event(shop, JSON.stringify({ popupId: stage.id, eventType: 'close' })).join(''), resolve),
    )
    // A request sent now is answered after it.
    await speak(portOf(shop), `GET /page HTTP/1.1\r\nHost: ${new URL(shop.url).host}\r\n\r\n`, { answers: 1 })
    const stopped = shop.daemon.stop(0, 20_000)
    other.exec('commit')
    other.close()
    const { answers, closed } = await spoken
    expect([answers.map(({ status, headers }) => [status, headers.connection]), closed, await stopped]).toEqual([
      [[200, 'close']],
      true,
      0,
    ])
    expect(await shop.events()).toHaveLength(2)
  })

  it('is recorded although the sender has disconnected', async () => {
    const shop = await startStorefront()
    const stage = await shop.stage()
    const socket = connect(portOf(shop), '127.0.0.1')
    await new Promise((resolve) =>
      socket.write(event(shop, JSON.stringify({ popupId: stage.id, eventType: 'close' })).join(''), resolve),
    )
    socket.destroy()
    await until(async () => expect(await shop.events()).toHaveLength(1))
  })
})
