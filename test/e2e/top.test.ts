import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { LiveRequest } from '../../src/operations/traffic-live.ts'
import { bearer, createClient, fetchToken, prefix, type ApiClient } from '../helpers/api-client.ts'
import { runCommand } from '../helpers/commands.ts'
import { environment } from '../helpers/environment.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'
import { hasTmux, openTerminal } from '../helpers/tmux.ts'
import { scratch } from '../helpers/scratch.ts'
import { until } from '../helpers/until.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

let shop: Shop
let reader: ApiClient

beforeAll(async () => {
  shop = await openShop({ config: { server: { processes: 2 } } })
  reader = await createClient(shop.daemon, 'reader', 'read')
})
afterAll(() => shop?.close())

/** Runs `top --json` in the background. */
function startTop(...args: string[]) {
  const { projectDir } = shop.daemon
  const env = environment(projectDir, {
    PAGECACHE_CLIENT_ID: reader.clientId,
    PAGECACHE_CLIENT_SECRET: reader.clientSecret,
  })
  const child = spawn(process.execPath, [program, 'top', ...args], { env, cwd: projectDir })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => void (output[name] += text))
  const events = () =>
    output.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { kind: string; processes?: number } & LiveRequest)
  return {
    child,
    output,
    requests: () => events().filter(({ kind }) => kind === 'request'),
    watches: (processes: number) =>
      until(() => events().findLast(({ kind }) => kind === 'processes')?.processes === processes),
    ended: once(child, 'close').then(([code]) => code as number | null),
  }
}

it('shows the requests of both processes, and nothing of the visitor', async () => {
  const top = startTop()
  await top.watches(2)
  const secrets = { cookie: 'session=canary-cookie', 'user-agent': 'canary-agent', authorization: 'Basic canary' }
  shop.origin.on('/private', { ...page('private'), headers: { 'cache-control': 'private' } })
  // Each on a connection of its own: both processes answer some.
  for (let count = 0; count < 6; count += 1)
    await shop.ask('/page?secret=canary-query', { headers: { 'user-agent': 'canary-agent' } })
  await shop.ask('/private?secret=canary-query', { headers: secrets })
  await shop.ask('/checkout/cart', { method: 'POST', body: 'canary-body' })
  await shop.ask('/healthz')
  await until(() => top.requests().length === 8)
  expect(top.requests().filter(({ path }) => path === '/page')).toHaveLength(6)
  expect(top.requests()).toContainEqual(
    expect.objectContaining({ method: 'POST', result: 'pass', status: 200, type: 'other', path: '/checkout/cart' }),
  )
  expect(top.requests()).toContainEqual(
    expect.objectContaining({ result: 'miss', reason: 'not cached yet', host: shop.host, path: '/page' }),
  )
  expect(top.output.stdout).not.toMatch(/canary|127\.0\.0\.1(?!:)/)
  top.child.kill('SIGINT')
  expect(await top.ended).toBe(130)
})

it('works with a read-only client over HTTP, with filters, across a reload, and ends after --limit', async () => {
  const top = startTop('--server', shop.daemon.url, '--result', 'pass', '--path', '/check*', '--limit', '2', '--json')
  await top.watches(2)
  await shop.ask('/page')
  await shop.ask('/checkout/one')
  await until(() => top.requests().length === 1)
  shop.daemon.kill('SIGHUP')
  await until(() => shop.daemon.logs().includes('configuration was reloaded'))
  await until(async () => {
    await shop.ask('/checkout/two')
    return top.requests().length === 2
  })
  expect(await top.ended).toBe(0)
  expect(top.requests().map(({ path }) => path)).toEqual(['/checkout/one', '/checkout/two'])
})

it.skipIf(!hasTmux)(
  'opens its view on a terminal, with a filter typed in place, and leaves a summary (needs tmux)',
  async () => {
    const terminal = await openTerminal(`${process.execPath} ${program} top --path /t; echo "exit $?"`, {
      columns: 100,
      rows: 24,
      cwd: shop.daemon.projectDir,
    })
    await terminal.see('2 processes')
    for (const path of ['/t-one', '/t-two', '/other']) shop.origin.on(path, page(path))
    for (const path of ['/t-two', '/other']) await shop.ask(path)
    // A page is stored a moment after its answer.
    const shown = await until(async () => {
      await shop.ask('/t-one')
      const screen = await terminal.screen()
      expect(screen).toMatch(/hit +200 .*\/t-one/)
      return screen
    })
    expect(shown).not.toContain('/other')
    expect(await terminal.flag('alternate_on')).toBe('1')
    await terminal.keys('/', ...'miss', 'Enter')
    await until(async () => expect(await terminal.screen()).not.toMatch(/hit +200/))
    expect(await terminal.see('/t-two  not cached yet')).toContain('filter: miss')
    await terminal.keys('q')
    expect(await terminal.see('exit 0')).toMatch(/hit ratio \S+ %, \d+ requests/)
  },
)

it('needs a token, and says why where nothing can be shown', async () => {
  expect((await shop.ask(`${prefix}/traffic/live`)).status).toBe(401)
  const headers = bearer(await fetchToken(shop.daemon.url, reader))
  const answer = await shop.ask(`${prefix}/traffic/live?result=nothing`, { headers })
  expect([answer.status, String(answer.body)]).toEqual([400, expect.stringContaining('result')])
  expect((await shop.ask(`${prefix}/traffic/live`, { method: 'HEAD', headers })).status).toBe(200)
  const empty = await scratch('empty')
  onTestFinished(() => empty.discard())
  const { code, stderr } = await runCommand(['top'], empty.path)
  expect([code, stderr]).toEqual([3, expect.stringContaining('pagecache serve')])
})
