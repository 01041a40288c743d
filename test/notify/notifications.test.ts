import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bodyOf } from '../../src/notify/body.ts'
import { notifyHandler } from '../../src/notify/handler.ts'
import { messagesFor, webhooksOf, type Notification, type Webhook } from '../../src/notify/notification.ts'
import { Notifier, toNotification, type Finding, type Problem } from '../../src/notify/problems.ts'
import { sendNotification } from '../../src/notify/send.ts'
import { webhookFields } from '../../src/notify/sign.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { start, testQueue } from '../queue/open-queue.ts'

const secret = 'a-secret-of-24-characters'
const hook = (more: Partial<Webhook> = {}): Webhook => ({
  name: 'ops',
  type: 'json',
  url: 'http://127.0.0.1:9/hook?token=canary',
  events: ['warmup', 'proxy', 'hit-ratio', 'disk', 'node'],
  secret: null,
  ...more,
})
const problem: Problem = { event: 'proxy', subject: 'varnish-1', title: 'It is down', text: 'refused' }
const notification = toNotification({ ...problem, state: 'problem' }, 'prod', start)

async function startReceiver(): Promise<Origin> {
  const receiver = await startOrigin()
  onTestFinished(() => receiver.stop())
  receiver.on('/hook', { status: 204 })
  return receiver
}

const send = (webhook: Webhook, what: Notification = notification) =>
  sendNotification(webhook, what, { now: start, signal: new AbortController().signal })

it('signs as the example of Standard Webhooks does', () => {
  const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const fields = webhookFields('msg_p5jXN8AQM9LWM0D4loKWxJek', '{"test": 2432232314}', key, 1_614_265_330_000)
  expect(fields).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

it('escapes what Slack would take for a mention or a link', () => {
  const { text } = JSON.parse(
    bodyOf(hook({ type: 'slack' }), { ...notification, text: '<!channel> & <http://x|y>' }),
  ) as {
    text: string
  }
  expect(text).toBe(':red_circle: *It is down* (prod)\n&lt;!channel&gt; &amp; &lt;http://x|y&gt;')
})

it('gives each webhook the events it wants, and the common secret unless it has its own', () => {
  const webhooks = webhooksOf({
    webhooks: [hook({ name: 'all' }), hook({ name: 'own', secret: 'own-secret-of-its-own', events: ['disk'] })],
    secret,
    hitRatio: null,
    diskFree: 0,
    proxyAfter: 0,
  })
  expect(webhooks.map((each) => each.secret)).toEqual([secret, 'own-secret-of-its-own'])
  const messages = messagesFor(webhooks, notification)
  expect(messages.map(({ payload }) => payload)).toEqual([{ webhook: 'all', notification }])
  expect(JSON.stringify(messages)).not.toMatch(/canary|secret/)
})

describe('sending', () => {
  it('posts the signed notification, whose id and body stay the same when it is repeated', async () => {
    const receiver = await startReceiver()
    const webhook = hook({ url: `${receiver.url}/hook?token=canary`, secret })
    expect(await send(webhook)).toMatchObject({ ok: true, status: 204 })
    const { method, url, headers, body } = receiver.last('/hook')
    expect([method, url, JSON.parse(body.toString())]).toEqual(['POST', '/hook?token=canary', notification])
    expect(headers).toMatchObject(webhookFields(notification.id, body.toString(), secret, start))
  })

  it('follows no redirect', async () => {
    const receiver = await startReceiver()
    receiver.on('/moved', { status: 307, headers: { location: `${receiver.url}/hook` } })
    const result = await send(hook({ url: `${receiver.url}/moved`, secret }))
    expect(result).toMatchObject({ ok: false, status: 307, retry: false, error: expect.stringContaining('redirect') })
    expect(receiver.hits('/hook')).toBe(0)
  })

  it.each([
    [400, false],
    [404, false],
    [408, true],
    [429, true],
    [500, true],
    [503, true],
  ])('retries after %i: %s', async (status, retry) => {
    const receiver = await startReceiver()
    receiver.on('/hook', { status, body: 'x'.repeat(1_000_000) })
    expect(await send(hook({ url: `${receiver.url}/hook` }))).toMatchObject({ ok: false, status, retry })
  })

  it('says why a receiver could not be reached, and never its URL', async () => {
    const receiver = await startReceiver()
    receiver.raw('/cut', (socket) => void socket.destroy())
    for (const url of [
      'http://user:canary@127.0.0.1:9/canary',
      `${receiver.url}/cut?canary`,
      'http://canary.invalid/',
    ]) {
      const result = await send(hook({ url }))
      expect(result).toMatchObject({ ok: false, status: null, retry: true })
      expect(JSON.stringify(result)).not.toContain('canary')
    }
  })

  it('gives up a request when the worker must end', async () => {
    const receiver = await startReceiver()
    receiver.on('/hook', () => sleep(60_000, undefined, { ref: false }))
    const stop = new AbortController()
    const sent = sendNotification(hook({ url: `${receiver.url}/hook` }), notification, {
      now: start,
      signal: stop.signal,
    })
    stop.abort()
    expect(await sent).toMatchObject({ ok: false, retry: true })
  })
})

describe('the queue', () => {
  it('retries a notification until the receiver accepts it', async () => {
    const receiver = await startReceiver()
    let answers = 0
    receiver.on('/hook', () => ({ status: (answers += 1) < 3 ? 503 : 200 }))
    const { queue, now, consume, jump } = await testQueue()
    const webhooks = [hook({ url: `${receiver.url}/hook`, secret })]
    await queue.dispatch(messagesFor(webhooks, notification))
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await consume({ handlers: [notifyHandler({ webhooks, now })], limits: { messages: 1 } })
      expect(answers).toBe(attempt)
      jump(60_000)
    }
    expect((await queue.statistics()).transports.map(({ count }) => count)).toEqual([0, 0, 0])
    const ids = receiver.requests.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids)).toEqual(new Set([notification.id]))
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(3)
  })

  it('counts no attempt for a request that a worker has aborted because it must end', async () => {
    const receiver = await startReceiver()
    const stop = new AbortController()
    receiver.on('/hook', () => {
      stop.abort()
      return sleep(60_000, undefined, { ref: false })
    })
    const { queue, records, now, consume } = await testQueue()
    const webhooks = [hook({ url: `${receiver.url}/hook` })]
    await queue.dispatch(messagesFor(webhooks, notification))
    await records.db.updateTable('queue_messages').set({ attempts: 11 }).execute()
    await consume({ handlers: [notifyHandler({ webhooks, now })], stop: stop.signal })
    const rows = await records.db.selectFrom('queue_messages').select(['transport', 'attempts']).execute()
    expect(rows).toEqual([{ transport: 'async', attempts: 11 }])
  })

  it('shows what was rejected or is no longer configured among the failed messages, without secrets', async () => {
    const receiver = await startReceiver()
    receiver.on('/hook', { status: 410 })
    const { queue, now, consume } = await testQueue()
    const webhooks = [hook({ url: `${receiver.url}/hook?token=canary`, secret })]
    await queue.dispatch(messagesFor([...webhooks, hook({ name: 'gone' })], notification))
    await consume({ handlers: [notifyHandler({ webhooks, now })], limits: { messages: 2 } })
    const { items } = await queue.listFailed({ limit: 10, offset: 0, type: 'notify.send' })
    expect(items.map(({ error }) => error).toSorted()).toEqual([
      'gone: it is no longer configured',
      'ops: it answered 410',
    ])
    const read = await Promise.all(items.map(({ id }) => queue.readFailed(id)))
    expect(JSON.stringify(read)).not.toMatch(/canary|secret/)
  })
})

describe('a problem', () => {
  const finding = (problems: Problem[], persists = false): Finding => ({
    event: 'proxy',
    problems,
    persists: () => persists,
  })

  async function openNotifiers() {
    const { records, queue, now } = await testQueue()
    const options = { db: records.db, webhooks: [hook()], environment: 'prod', now }
    const sent = async () => {
      const rows = await records.db.selectFrom('queue_messages').select('payload').orderBy('id').execute()
      return rows.map(({ payload }) => (JSON.parse(payload) as { notification: Notification }).notification)
    }
    return { one: new Notifier(options), other: new Notifier(options), sent, queue }
  }

  it('is reported once, whichever process finds it, and once more when it has passed', async () => {
    const { one, other, sent } = await openNotifiers()
    for (let round = 0; round < 3; round += 1)
      await Promise.all([one.report([finding([problem])]), other.report([finding([problem])])])
    expect(await sent()).toMatchObject([{ state: 'problem', subject: 'varnish-1', title: 'It is down' }])
    await Promise.all([one.report([finding([])]), other.report([finding([])])])
    expect((await sent()).slice(1)).toMatchObject([{ state: 'recovered', title: 'Recovered: It is down' }])
    await one.report([finding([problem])])
    expect(await sent()).toHaveLength(3)
  })

  it('lasts while the easier limit holds, and while its check fails', async () => {
    const { one, sent } = await openNotifiers()
    await one.report([finding([problem])])
    await one.report([finding([], true)])
    await one.report([])
    await one.report([finding([problem])])
    expect(await sent()).toHaveLength(1)
  })

  it('is reported for each subject, and again for another occurrence', async () => {
    const { one, sent } = await openNotifiers()
    await one.report([finding([problem, { ...problem, subject: 'varnish-2' }])])
    await one.report([finding([problem, { ...problem, subject: 'varnish-2', occurrence: 'next' }])])
    expect((await sent()).map(({ subject, state }) => [subject, state])).toEqual([
      ['varnish-1', 'problem'],
      ['varnish-2', 'problem'],
      ['varnish-2', 'problem'],
    ])
  })

  it('raised by itself leaves other problems alone', async () => {
    const { one, sent } = await openNotifiers()
    await one.raise(problem)
    await one.raise({ ...problem, subject: 'varnish-2' })
    await one.raise(problem)
    expect(await sent()).toHaveLength(2)
  })
})
