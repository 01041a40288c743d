import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openApi, type Api } from '../../helpers/api.ts'
import { bearer, fetchToken, json, jsonOf, prefix, type ApiClient } from '../../helpers/api-client.ts'
import { runCommand } from '../../helpers/commands.ts'
import { freePort } from '../../helpers/daemon.ts'
import { exchange } from '../../helpers/exchange.ts'
import { start } from '../../helpers/cli.ts'
import { tempDir } from '../../helpers/temp-dir.ts'

let api: Api

beforeAll(async () => {
  api = await openApi()
})

afterAll(() => api?.stop())

/** Sends a secret and a token in every invalid way; returns the answers as text. */
async function misuse(secret: string, token: string): Promise<string[]> {
  const path = '/api/oauth/token'
  const json = { 'content-type': 'application/json' }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const client = { grant_type: 'client_credentials', client_id: api.write.clientId, client_secret: secret }
  const requests: Parameters<Api['ask']>[] = [
    [path, { method: 'POST', headers: json, body: JSON.stringify({ ...client, client_id: 'unknown' }) }],
    [path, { method: 'POST', headers: json, body: `${JSON.stringify(client)}x` }],
    [path, { method: 'POST', headers: json, body: JSON.stringify({ ...client, grant_type: secret }) }],
    [path, { method: 'POST', headers: json, body: JSON.stringify({ ...client, scope: secret }) }],
    [path, { method: 'POST', headers: json, body: JSON.stringify({ ...client, client_secret: { [secret]: secret } }) }],
    [path, { method: 'POST', headers: form, body: `${new URLSearchParams(client)}&client_secret=${secret}` }],
    [
      path,
      { method: 'POST', headers: { ...form, authorization: `Basic ${secret}` }, body: 'grant_type=client_credentials' },
    ],
    [`${path}?client_secret=${secret}`, { method: 'POST', headers: form, body: '' }],
    [`${prefix}/stats?access_token=${token}`, {}],
    [`${prefix}/stats`, { headers: { authorization: `Bearer ${token}x` } }],
    [`${prefix}/stats`, { headers: { authorization: `Token ${token}` } }],
    [`${prefix}/pages?type=x&note=${secret}`, { headers: bearer(api.write.token) }],
    [`${prefix}/${secret}`, { headers: bearer(api.write.token) }],
    [
      `${prefix}/clear`,
      { method: 'POST', headers: { ...bearer(api.write.token), 'content-type': secret }, body: '{}' },
    ],
    [
      `${prefix}/clear-by-type`,
      { method: 'POST', headers: { ...bearer(api.write.token), ...json }, body: `{"type":"${secret}"` },
    ],
  ]
  const answers = await Promise.all(requests.map(([target, how]) => api.ask(target, how)))
  for (const answer of answers) expect(answer.status).toBeGreaterThanOrEqual(400)
  return answers.map((answer) => `${JSON.stringify([...answer.headers])}\n${answer.body.toString()}`)
}

it('no answer and no log line contains a secret or a token', async () => {
  const { clientSecret } = api.write
  const token = await fetchToken(api.daemon.url, api.write)
  for (const text of [...(await misuse(clientSecret, token)), api.daemon.logs()]) {
    expect(text).not.toContain(clientSecret)
    expect(text).not.toContain(token)
  }
})

it('a secret created over the API appears in that answer only', async () => {
  const env = { PAGECACHE_CLIENT_ID: api.write.clientId, PAGECACHE_CLIENT_SECRET: api.write.clientSecret }
  const there = (...args: string[]) => runCommand([...args, '--server', api.daemon.url], api.daemon.projectDir, env)
  const post = async (path: string, value: unknown) => {
    const body = json(value)
    return api.ask(prefix + path, { method: 'POST', ...body, headers: { ...body.headers, ...bearer(api.write.token) } })
  }
  const answer = await post('/clients', { name: 'canary' })
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const byHttp = jsonOf(answer) as ApiClient
  const { stdout, stderr } = await there('client:create', 'canary there', '--json')
  const byCommand = JSON.parse(stdout) as ApiClient
  expect(answer.body.toString().split(byHttp.clientSecret).length + stdout.split(byCommand.clientSecret).length).toBe(4)
  const texts = [
    stderr,
    JSON.stringify([...answer.headers]),
    (await there('client:list')).stdout,
    (await there('client:list', '--json')).stdout,
    (await post('/clients', { name: byHttp.clientSecret, scope: 'none' })).body.toString(),
    (await post('/clients/revoke', { clientId: byHttp.clientSecret.repeat(100) })).headers.get('x-request-id')!,
    (await post('/clients/revoke', { clientId: byHttp.clientId })).body.toString(),
    (await there('client:revoke', byCommand.clientId, '--yes', '--json')).stdout,
    api.daemon.logs(),
  ]
  const dataDir = join(api.daemon.projectDir, 'var', 'data', 'prod')
  for (const entry of (await readdir(dataDir, { recursive: true, withFileTypes: true })).filter((one) => one.isFile()))
    texts.push(await readFile(join(entry.parentPath, entry.name), 'latin1'))
  for (const text of texts) for (const { clientSecret } of [byHttp, byCommand]) expect(text).not.toContain(clientSecret)
})

it('only the command that creates a secret prints it', async () => {
  const { clientId, clientSecret } = api.write
  const projectDir = await tempDir()
  await writeFile(join(projectDir, 'secret'), clientSecret)
  await writeFile(
    join(projectDir, 'pagecache.yaml'),
    JSON.stringify({ profiles: { here: { server: api.daemon.url, clientId, clientSecretFile: 'secret' } } }),
  )
  const env = { PAGECACHE_CLIENT_ID: clientId, PAGECACHE_CLIENT_SECRET: clientSecret }
  const commands = [
    'cache:stats',
    'client:list',
    'config:show',
    'doctor',
    'warmup:progress nothing',
    `cache:stats --client-secret=${clientSecret}`,
  ]
  const places = [`--server ${api.daemon.url}`, `--server http://127.0.0.1:${await freePort()}`, '--profile here', '']
  for (const command of commands) {
    const outputs = places.map(async (place, index) => {
      const { stdout, stderr } = await runCommand(
        `${command} ${place} ${index % 2 === 0 ? '--json' : ''}`.split(' ').filter((word) => word !== ''),
        projectDir,
        env,
      )
      return stdout + stderr
    })
    for (const output of await Promise.all(outputs)) expect(output, command).not.toContain(clientSecret)
  }
  const listed = await api.daemon.run('client:list', '--json')
  expect(listed.stdout).toContain(clientId)
  expect(listed.stdout).not.toContain(clientSecret)
})

it('no command line and no state file contains a secret or a token', async () => {
  const { clientId, clientSecret, token } = api.write
  const child = start(['warmup:watch', '--server', api.daemon.url], {
    env: { PAGECACHE_CLIENT_ID: clientId, PAGECACHE_CLIENT_SECRET: clientSecret },
    cwd: await tempDir(),
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  for (const pid of [child.pid!, api.daemon.pid])
    expect(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).not.toContain(clientSecret)
  child.kill('SIGKILL')
  await ended
  const dataDir = join(api.daemon.projectDir, 'var', 'data', 'prod')
  const names = (await readdir(dataDir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
  expect(names.length).toBeGreaterThan(1)
  for (const entry of names) {
    const content = await readFile(join(entry.parentPath, entry.name), 'latin1')
    expect(content).not.toContain(clientSecret)
    expect(content).not.toContain(token)
  }
})

it('an internal error discloses nothing to the client', async () => {
  const file = join(api.daemon.projectDir, 'var', 'data', 'prod', 'keys', '000001.json')
  const key = await readFile(file, 'utf8')
  try {
    await writeFile(file, key.replace('{', '{"canary-of-the-key":'))
    const answer = await exchange(`${api.daemon.url}/api/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        grant_type: 'client_credentials',
        client_id: api.write.clientId,
        client_secret: api.write.clientSecret,
      }),
    })
    for (const text of [answer.body.toString(), JSON.stringify([...answer.headers]), api.daemon.logs()]) {
      expect(text).not.toContain('canary-of-the-key')
      expect(text).not.toContain((JSON.parse(key) as { privateKey: { d: string } }).privateKey.d)
    }
  } finally {
    await writeFile(file, key)
  }
})
