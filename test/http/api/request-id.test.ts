import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openApi, type Api } from '../../helpers/api.ts'
import { bearer, prefix } from '../../helpers/api-client.ts'
import { runCommand } from '../../helpers/commands.ts'
import { type DaemonOptions } from '../../helpers/daemon.ts'
import { startOrigin } from '../../helpers/origin.ts'
import { until } from '../../helpers/until.ts'

interface Line {
  level: string
  requestId?: string
  error?: string
  request?: { id: string; path: string }
}

async function open(options: DaemonOptions): Promise<Api> {
  const origin = await startOrigin({
    otherwise: () => ({
      headers: { 'content-type': 'text/html', 'cache-control': 'public, max-age=60' },
      body: 'page',
    }),
  })
  const api = await openApi({ args: ['--origin', origin.url], ...options })
  onTestFinished(async () => {
    await api.stop()
    await origin.stop()
  })
  return api
}

function linesOf(api: Api): Line[] {
  return api.daemon
    .logs()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)
}

/** Breaks the signing key: the daemon can verify no token, and hides the cause from clients. */
async function breakKey(api: Api): Promise<void> {
  const file = join(api.daemon.projectDir, 'var', 'data', 'prod', 'keys', '000001.json')
  await writeFile(file, (await readFile(file, 'utf8')).replace('"kid"', '"broken"'))
  // Change the directory of the keys, so that they are read again.
  await writeFile(join(file, '..', 'touched'), '')
}

const token = (api: Api) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-request-id': 'mine' },
  body: JSON.stringify({
    grant_type: 'client_credentials',
    client_id: api.write.clientId,
    client_secret: api.write.clientSecret,
  }),
})

describe('the id of a request', () => {
  it('is in every answer of the API, unique, and never the id that the client sent', async () => {
    const api = await open({ config: { log: { access: true } } })
    const own = { ...bearer(api.write.token), 'x-request-id': 'mine' }
    const answers = [
      await api.ask(`${prefix}/stats`, { headers: own }),
      await api.ask(`${prefix}/stats`),
      await api.ask(`${prefix}/nothing`, { headers: own }),
      await api.ask(`${prefix}/stats`, { method: 'DELETE', headers: own }),
      await api.ask(`${prefix}/clear`, {
        method: 'POST',
        headers: { ...own, 'content-type': 'application/json' },
        body: '{',
      }),
      await api.ask(`${prefix}/clear`, {
        method: 'POST',
        headers: { ...own, 'content-length': String(2 ** 21) },
        body: ' '.repeat(2 ** 21),
      }),
      await api.ask('/api/oauth/token', token(api)),
      await api.ask('/api/oauth/token', { ...token(api), body: '{}' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 404, 405, 400, 413, 200, 400])
    const ids = answers.map(({ headers }) => headers.get('x-request-id'))
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(new Set(ids).size).toBe(ids.length)
    await until(() => ids.every((id) => linesOf(api).some(({ request }) => request?.id === id)))
  })

  it('differs between requests that share an answer', async () => {
    const api = await open({})
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.ask(`${prefix}/stats`, { headers: bearer(api.read.token) })),
    )
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(20)
  })

  it('finds the cause of a neutral error in the log, for a remote command too', async () => {
    const api = await open({})
    await breakKey(api)
    const answers = [
      await api.ask(`${prefix}/stats`, { headers: { ...bearer(api.write.token), 'x-request-id': 'mine' } }),
      await api.ask('/api/oauth/token', token(api)),
    ]
    const env = { PAGECACHE_CLIENT_ID: api.write.clientId, PAGECACHE_CLIENT_SECRET: api.write.clientSecret }
    const { code, stdout, stderr } = await runCommand(
      ['cache:stats', '--server', api.daemon.url],
      api.daemon.projectDir,
      env,
    )
    expect([code, stdout]).toEqual([1, ''])
    const told = /See request ([0-9a-f-]{36}) in the log of the daemon\./.exec(stderr)?.[1]
    expect(answers.map(({ status }) => status)).toEqual([500, 500])
    const ids = [...answers.map(({ headers }) => headers.get('x-request-id')), told]
    await until(() =>
      ids.every((id) => linesOf(api).some(({ level, requestId }) => level === 'error' && requestId === id)),
    )
    for (const id of ids)
      expect(linesOf(api).find(({ requestId }) => requestId === id)?.error).toContain('is not a readable key')
    expect(api.daemon.logs()).not.toContain('mine')
  })

  it('is in a text log too', async () => {
    const api = await open({ config: { log: { format: 'text' } } })
    await breakKey(api)
    const id = (await api.ask(`${prefix}/stats`, { headers: bearer(api.write.token) })).headers.get('x-request-id')!
    await until(() => api.daemon.logs().includes(`[${id}]`))
  })

  it('is not sent to visitors', async () => {
    const api = await open({})
    for (const [path, method] of [
      ['/a', 'GET'],
      ['/a', 'GET'],
      ['/checkout', 'GET'],
      ['/a', 'POST'],
      ['/a', 'PURGE'],
      ['/admin', 'GET'],
      ['/vendor-stage/active', 'GET'],
    ] as const) {
      expect((await api.ask(path, { method })).headers.get('x-request-id')).toBeNull()
    }
  })
})
