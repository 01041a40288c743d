import { Agent, request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { askToken, createClient } from '../helpers/api-client.ts'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { until } from '../helpers/until.ts'

const processes = 3

async function open(config: Record<string, unknown> = {}): Promise<Daemon> {
  const origin = await startOrigin()
  const daemon = await startDaemon({
    args: ['--origin', origin.url, '--no-workers'],
    config: { server: { processes }, trustedProxies: ['127.0.0.1'], ...config },
  })
  onTestFinished(async () => {
    await daemon.stop()
    await origin.stop()
  })
  return daemon
}

/** Opens a keep-alive connection for POST requests. Connections go to the processes in turns. */
function connection(daemon: Daemon) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  return (path: string, body: object): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(
        `${daemon.url}${path}`,
        { method: 'POST', agent, headers: { 'content-type': 'application/json' } },
        (response) => {
          response.resume()
          response.once('end', () => resolve(response.statusCode!))
          response.once('error', reject)
        },
      )
      sent.once('error', reject)
      sent.end(JSON.stringify(body))
    })
}

describe('rate limits are shared by all processes of a daemon', () => {
  it('failed logins: of one address, and of one client from many addresses', async () => {
    const daemon = await open()
    const client = await createClient(daemon, 'rightful')
    const from = { 'x-forwarded-for': '192.0.2.1' }
    const statuses: number[] = []
    // Each request uses a new connection, so the processes take turns.
    while (!statuses.includes(429))
      statuses.push(
        (await askToken(daemon.url, { ...client, clientId: `guess-${statuses.length}`, clientSecret: 'wrong' }, from))
          .status,
      )
    expect(statuses.length).toBeGreaterThan(10)
    expect(statuses.length).toBeLessThan(20)
    const ask = () => askToken(daemon.url, client, from)
    await until(async () =>
      (await Promise.all(Array.from({ length: 2 * processes }, ask))).every(({ status }) => status === 429),
    )
    expect((await askToken(daemon.url, client, { 'x-forwarded-for': '192.0.2.2' })).status).toBe(200)
    // A reload must not reset the limit.
    daemon.kill('SIGHUP')
    await until(() => daemon.logs().split('The configuration was reloaded').length > processes)
    expect(
      new Set((await Promise.all(Array.from({ length: 2 * processes }, ask))).map(({ status }) => status)),
    ).toEqual(new Set([429]))

    const guessed = await createClient(daemon, 'guessed')
    const many: number[] = []
    while (!many.includes(429))
      many.push(
        (
          await askToken(
            daemon.url,
            { ...guessed, clientSecret: 'wrong' },
            { 'x-forwarded-for': `203.0.113.${many.length}` },
          )
        ).status,
      )
    expect(many.length).toBeGreaterThan(10)
    expect(many.length).toBeLessThan(20)
    expect((await askToken(daemon.url, guessed, { 'x-forwarded-for': '198.51.100.1' })).status).toBe(200)
  })

  const none = { perAddress: null, perStage: null, total: null }
  it.each([{ perAddress: 10 }, { perStage: 10 }, { total: 10 }])('popup events: %o', async (limit) => {
    const daemon = await open({ stages: { rateLimit: { ...none, ...limit } } })
    const { stage } = JSON.parse((await daemon.run('stage:create', 'Sale', '--json')).stdout) as {
      stage: { id: string }
    }
    const connections = Array.from({ length: processes }, () => connection(daemon))
    const refused = connections.map(() => 0)
    let recorded = 0
    const started = performance.now()
    while (refused.some((times) => times < 20)) {
      for (const [index, post] of connections.entries()) {
        const status = await post('/vendor-stage/track', { popupId: stage.id, eventType: 'close' })
        if (status === 429) refused[index]! += 1
        else recorded += 1
      }
    }
    // A burst of ten seconds, the refill since, and what was admitted before the processes shared their counts: less than a second burst.
    const seconds = (performance.now() - started) / 1000
    expect(recorded).toBeGreaterThanOrEqual(100)
    expect(recorded).toBeLessThan(200 + 10 * seconds)
  })
})
