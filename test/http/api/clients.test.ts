import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal, openApi, type Api } from '../../helpers/api.ts'
import {
  askToken,
  bearer,
  createClient,
  fetchToken,
  json,
  jsonOf,
  prefix,
  type ApiClient,
} from '../../helpers/api-client.ts'
import { runCommand } from '../../helpers/commands.ts'
import type { CommandResult } from '../../helpers/environment.ts'
import type { Answer } from '../../helpers/exchange.ts'
import { until } from '../../helpers/until.ts'
import { read } from '../front/wire.ts'

let api: Api

beforeAll(async () => {
  api = await openApi({ config: { server: { processes: 2 } } })
})

afterAll(() => api?.stop())

interface View {
  clientId: string
  name: string
  createdBy: string | null
  revokedAt: string | null
  revokedBy: string | null
}

const post = (token: string, path: string, value: unknown): Promise<Answer> => {
  const body = json(value)
  return api.ask(`${prefix}${path}`, { method: 'POST', ...body, headers: { ...body.headers, ...bearer(token) } })
}

/** A client that the owner of a token makes over the API, with a token of its own. */
async function make(token: string, name: string, scope?: string): Promise<ApiClient & { token: string }> {
  const answer = await post(token, '/clients', { name, ...(scope && { scope }) })
  expect([answer.status, answer.headers.get('cache-control')], answer.body.toString()).toEqual([200, 'no-store'])
  const client = jsonOf(answer) as ApiClient
  return { ...client, token: await fetchToken(api.daemon.url, client) }
}

/** A client that was made on the command line, with its token. */
async function local(name: string): Promise<ApiClient & { token: string }> {
  const client = await createClient(api.daemon, name)
  return { ...client, token: await fetchToken(api.daemon.url, client) }
}

async function listed(name: string): Promise<View> {
  const { items } = jsonOf(await api.ask(`${prefix}/clients?limit=1000`, { headers: bearer(api.read.token) })) as {
    items: View[]
  }
  return items.find((item) => item.name === name)!
}

/** Each request on a connection of its own, so that all processes get some. */
async function statuses(token: string): Promise<number[]> {
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => api.ask(`${prefix}/stats`, { headers: bearer(token) })),
  )
  return [...new Set(answers.map(({ status }) => status))]
}

describe('creating a client', () => {
  it('grants at most the scopes of its creator', async () => {
    expect((await make(api.write.token, 'writer')).scopes).toEqual(['read', 'write'])
    expect((await make(api.write.token, 'reader', 'read')).scopes).toEqual(['read'])
    expectRefusal(await post(api.read.token, '/clients', { name: 'x', scope: 'read' }), 403, /scope write/)
    const answer = await api.ask('/api/oauth/token', {
      method: 'POST',
      ...json({
        grant_type: 'client_credentials',
        client_id: api.write.clientId,
        client_secret: api.write.clientSecret,
        scope: 'write',
      }),
    })
    const { access_token: narrow } = jsonOf(answer) as { access_token: string }
    for (const scope of ['read', 'write'])
      expectRefusal(await post(narrow, '/clients', { name: 'x', scope }), 403, /requires a token with these scopes/)
  })

  it('records the creator, which every client may list; secrets are never listed', async () => {
    const { clientSecret } = await make(api.write.token, 'remembered')
    expect(await listed('remembered')).toMatchObject({ createdBy: api.write.clientId, revokedBy: null })
    expect(await listed('write')).toMatchObject({ createdBy: null })
    const answer = await api.ask(`${prefix}/clients`, { headers: bearer(api.read.token) })
    for (const secret of [clientSecret, api.write.clientSecret]) expect(answer.body.toString()).not.toContain(secret)
    expect((await api.daemon.run('client:list')).stdout).toContain(`\t${api.write.clientId}\t`)
  })

  it('is logged, like revoking a client and rotating the key', async () => {
    const maker = await local('logged')
    const { clientId } = await make(maker.token, 'made and logged')
    await post(maker.token, '/clients/revoke', { clientId })
    await post(maker.token, '/clients/rotate-key', {})
    await post(maker.token, '/clients/rotate-key', { dropOld: 5 })
    const done = () =>
      api.daemon
        .logs()
        .split('\n')
        .filter((line) => line.includes(maker.clientId))
        .map((line) => (JSON.parse(line) as { msg: string }).msg)
    await until(() => done().length >= 3)
    expect(done().toSorted()).toEqual(
      ['client.create', 'client.revoke', 'client.rotateKey'].map(
        (name) => `${name} was performed for ${maker.clientId}`,
      ),
    )
  })
})

describe('a revocation', () => {
  it('over the API also revokes the clients that it created, at once and in every process, and lists them', async () => {
    const first = await local('first')
    const second = await make(first.token, 'second')
    const third = await make(second.token, 'third', 'read')
    for (const { token } of [first, second, third]) expect(await statuses(token)).toEqual([200])
    const { client, made } = jsonOf(await post(api.write.token, '/clients/revoke', { clientId: first.clientId })) as {
      client: View
      made: View[]
    }
    expect([client.name, made.map(({ name, createdBy, revokedBy }) => [name, createdBy, revokedBy])]).toEqual([
      'first',
      [
        ['second', first.clientId, api.write.clientId],
        ['third', second.clientId, api.write.clientId],
      ],
    ])
    for (const one of [first, second, third]) {
      expect(await statuses(one.token)).toEqual([401])
      expect((await askToken(api.daemon.url, one)).status).toBe(401)
    }
    expectRefusal(await post(api.write.token, '/clients/revoke', { clientId: third.clientId }), 409, /already/)
    expectRefusal(await post(api.write.token, '/clients/revoke', { clientId: 'unknown' }), 404)
  })

  it('on the command line also revokes the clients that it created, and lists them', async () => {
    const first = await local('here')
    const second = await make(first.token, 'made there')
    const { code, stdout } = await api.daemon.run('client:revoke', first.clientId, '--yes')
    expect([code, stdout]).toEqual([
      0,
      `here (${first.clientId}) was revoked.\nmade there (${second.clientId}), created by ${first.clientId}, was revoked with it.\n`,
    ])
    expect(await statuses(second.token)).toEqual([401])
  })

  it('of itself or of its creator is the last request of a client', async () => {
    const own = await local('own')
    expect((await post(own.token, '/clients/revoke', { clientId: own.clientId })).status).toBe(200)
    expect(await statuses(own.token)).toEqual([401])
    const parent = await local('parent')
    const child = await make(parent.token, 'child')
    expect((await post(child.token, '/clients/revoke', { clientId: parent.clientId })).status).toBe(200)
    for (const { token } of [parent, child]) expect(await statuses(token)).toEqual([401])
  })

  it.each(['/clients', '/clients/rotate-key', '/clear'])(
    'that comes while the body of %s is under way is in time',
    async (path) => {
      const leaver = await local(`leaver ${path}`)
      const body = JSON.stringify({ name: 'outliving' })
      const socket = connect(api.daemon.port, '127.0.0.1')
      const reading = read(socket, { answers: 2 })
      socket.write(
        `POST ${prefix}${path} HTTP/1.1\r\nHost: ${api.daemon.host}\r\nAuthorization: Bearer ${leaver.token}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
      )
      // It is judged with its head: after this answer.
      await new Promise((resolve) => socket.once('data', resolve))
      expect((await api.daemon.run('client:revoke', leaver.clientId, '--yes')).code).toBe(0)
      socket.write(body)
      expect((await reading).answers.at(-1)).toMatchObject({ status: 401 })
      expect(await listed('outliving')).toBeUndefined()
    },
  )
})

describe('a new key', () => {
  it('that drops the old ones invalidates the token of the request, but revokes no client', async () => {
    const own = await local('rotating')
    expect(jsonOf(await post(own.token, '/clients/rotate-key', { dropOld: true }))).toEqual({
      success: true,
      kid: expect.any(String) as string,
      oldTokensValid: false,
    })
    expect(await statuses(own.token)).toEqual([401])
    expect(await statuses(await fetchToken(api.daemon.url, own))).toEqual([200])
    for (const one of [api.read, api.write]) one.token = await fetchToken(api.daemon.url, one)
  })

  it('is refused when there are too many keys', async () => {
    let answer: Answer
    do answer = await post(api.write.token, '/clients/rotate-key', {})
    while (answer.status === 200)
    expectRefusal(answer, 429, /keys/)
  })
})

it('a remote command creates a client with a valid secret and revokes it', async () => {
  const there = (...args: string[]): Promise<CommandResult> =>
    runCommand([...args, '--server', api.daemon.url], api.daemon.projectDir, {
      PAGECACHE_CLIENT_ID: api.write.clientId,
      PAGECACHE_CLIENT_SECRET: api.write.clientSecret,
    })
  const made = JSON.parse((await there('client:create', 'from afar', '--json')).stdout) as ApiClient
  expect((await askToken(api.daemon.url, made)).status).toBe(200)
  expect(await there('client:revoke', made.clientId)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`On ${api.daemon.url}: Revoke`) as string,
  })
  expect(await there('client:revoke', made.clientId, '--yes')).toMatchObject({
    code: 0,
    stdout: `from afar (${made.clientId}) was revoked.\n`,
  })
  expect((await askToken(api.daemon.url, made)).status).toBe(401)
  expect(await there('client:revoke', made.clientId, '--yes')).toMatchObject({ code: 3 })
})
