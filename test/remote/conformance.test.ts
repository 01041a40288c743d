import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiClient, createClient, fetchToken } from '../helpers/api-client.ts'
import { runCommand } from '../helpers/commands.ts'
import { type Daemon, freePort, startDaemon } from '../helpers/daemon.ts'
import type { CommandResult } from '../helpers/environment.ts'
import { type Origin, startOrigin } from '../helpers/origin.ts'
import { scratch, type Scratch } from '../helpers/scratch.ts'
import { until } from '../helpers/until.ts'
import { endless, here, lines, nowhere, ofMachine, page, sometimes } from './command-lines.ts'

const manifest = JSON.parse(await readFile(new URL('../../oclif.manifest.json', import.meta.url), 'utf8')) as {
  commands: Record<string, unknown>
}

const ids = Object.keys(manifest.commands)

const ordered = [...Object.keys(lines).filter((id) => ids.includes(id)), ...ids.filter((id) => !(id in lines))]

let origin: Origin

let local: Daemon

let remote: Daemon

let client: ApiClient

let leavers: { here: string; there: string }

let elsewhere: Scratch

const commands = {
  here: (...args: string[]) => local.run(...args),
  there: (...args: string[]) => runCommand([...args, '--server', remote.url], elsewhere.path, credentials()),
}

/** Two daemons of the same shop, each with its own state: commands run on the machine of one, and with --server on the other. */
beforeAll(async () => {
  origin = await startOrigin({
    otherwise: (request) => ({
      headers: { 'content-type': 'text/html', 'cache-control': 'public, max-age=600', xkey: 'tag-one' },
      body: `page of ${request.path}`,
    }),
  })
  origin.on('/sitemap.xml', {
    headers: { 'content-type': 'application/xml' },
    body: `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${page}</loc></url><url><loc>http://shop.example/two</loc></url><url><loc>http://other.example/</loc></url></urlset>`,
  })
  origin.on('/two', { status: 404, body: 'none' })
  const config = {
    salesChannels: [{ id: '0190c0de-0000-7000-8000-000000000001', url: 'http://shop.example', origin: origin.url }],
    warmup: { retries: 0 },
  }
  local = await startDaemon({ config })
  remote = await startDaemon({ config })
  client = await createClient(remote, 'elsewhere')
  // Both daemons have the same number of clients.
  await fetchToken(local.url, await createClient(local, 'elsewhere'))
  leavers = {
    here: (await createClient(local, 'leaver')).clientId,
    there: (await createClient(remote, 'leaver')).clientId,
  }
  elsewhere = await scratch('elsewhere')
})

afterAll(async () => {
  await local?.stop()
  await remote?.stop()
  await origin?.stop()
  await elsewhere?.discard()
})

const credentials = () => ({ PAGECACHE_CLIENT_ID: client.clientId, PAGECACHE_CLIENT_SECRET: client.clientSecret })

function runThere(args: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> {
  return runCommand([...args, '--server', remote.url], elsewhere.path, { ...credentials(), ...env })
}

/**
 * Without what two daemons cannot have in common: ids, times, durations, their own addresses and directories. The logs say `cli` of
 * what was typed beside the daemon and `api` of what came over the network, with the client; and how often progress is
 * told depends on how fast the machine is; a single answer brings none of the sitemaps.
 */
function comparable({ code, stdout, stderr }: CommandResult): { code: number | null; stdout: string; stderr: string } {
  const plain = (text: string) =>
    text
      .replaceAll(local.url, '<server>')
      .replaceAll(remote.url, '<server>')
      .replaceAll(local.projectDir, '<project>')
      .replaceAll(remote.projectDir, '<project>')
      .replaceAll(/^(?:Reading sitemaps: |\d+\.\d\d % ).*\n/gm, '')
      .replaceAll(/On <server>:[ \n]/g, '')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
      .replaceAll(/\b(vm|\S+) \d+(?=\tasync)/g, '<worker>')
      .replaceAll(/("?\b(?:Secret|clientSecret|kid)\b"?: "?|the key )[\w-]+/g, '$1<random>')
      .replaceAll(/("(?:createdBy|revokedBy|actor)": )(?:null|"<id>")/g, '$1<who>')
      .replaceAll(/\tcli\t-?|\tapi\t(?:<id>)?/g, '\t<who>\t')
      .replaceAll(/"source": "(?:cli|api)"/g, '"source": "<who>"')
      .replaceAll(/(^Response time, ms:|<who>\t+) ?[\d.]+/gm, '$1 <n>')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>')
      .replaceAll(/(read(?: write)?\t<time>\t)(?:-|<id>)/g, '$1<who>')
      .replaceAll(/(<time>\t)(?:-|<id>)$/gm, '$1<who>')
      .replaceAll(/\d+(?:\.\d+)? ?(?:ms|µs|s|min|h|pages\/s|URLs\/s|\/s)\b/g, '<n>')
      // Whether a rate is known at the end of a short run depends on the moment.
      .replaceAll(/(\(\d+\/\d+\))(?:, (?:ETA )?<n>)+/g, '$1')
      .replaceAll(
        /("(?:[A-Za-z_]*(?:[tT]ime|age|_per_second|eta_seconds|[lL]eft|pid|latency\w*|p\d\d|at|rate|bytes\w*|size))"): -?[\d.e-]+/g,
        '$1: "<n>"',
      )
      .replaceAll(/127\.0\.0\.1:\d+/g, '<address>')
  return { code, stdout: plain(stdout), stderr: plain(stderr) }
}

/** Waits until the warmups of both daemons have ended: what is fresh afterwards must not depend on their speed. */
async function warmed(): Promise<void> {
  const runs = [() => commands.here('warmup:progress', '--json'), () => commands.there('warmup:progress', '--json')]
  for (const run of runs)
    await until(
      async () =>
        (JSON.parse((await run()).stdout) as { progress: { status: string } | null }).progress?.status !== 'running',
    )
}

/** The keys of a value, or the beginnings of the lines. */
function shapeOf(text: string): unknown {
  if (!text.startsWith('{')) return text.split('\n').map((line) => /^[^:=\t]*/.exec(line)![0].trim())
  return Object.keys(JSON.parse(text) as object)
}

describe.each(ordered.filter((id) => id in sometimes || (!here.has(id) && !nowhere.has(id))))('%s', (id) => {
  const argvs = sometimes[id] ?? [
    ...(endless.has(id) ? [] : [[]]),
    ...(lines[id] ?? []),
    ...(lines[id] || endless.has(id) ? [] : [['--json']]),
  ]

  it.each(argvs.map((argv) => [argv.join(' '), argv] as const))('does the same there: %s', async (_, argv) => {
    const given = (clientId: string) => [id, ...argv.map((word) => word.replace('{client}', clientId))]
    const [own, theirs] = (
      await Promise.all([commands.here(...given(leavers.here)), commands.there(...given(leavers.there))])
    ).map(comparable) as [CommandResult, CommandResult]
    if (id === 'warmup:start') await warmed()
    if (!ofMachine.has(id)) return expect(theirs).toEqual(own)
    expect(theirs.code).toBe(own.code)
    expect(shapeOf(theirs.stdout)).toEqual(shapeOf(own.stdout))
  })
})

describe.each([...here])('%s', (id) => {
  it('is rejected, because it runs on this machine only', async () => {
    const { code, stdout, stderr } = await runThere([id])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^Error: .*this machine only/)
  })
})

describe('a profile', () => {
  beforeAll(async () => {
    await mkdir(join(elsewhere.path, 'secrets'))
    await writeFile(join(elsewhere.path, 'secrets', 'staging'), `${client.clientSecret}\n`)
    const config = {
      profiles: {
        staging: { server: remote.url, clientId: client.clientId, clientSecretFile: 'secrets/staging' },
        broken: { server: remote.url, clientId: 'a', clientSecretFile: 'none' },
      },
    }
    await writeFile(join(elsewhere.path, 'pagecache.yaml'), stringify(config))
  })

  const run = (args: string[], env: Record<string, string> = {}) => runCommand(args, elsewhere.path, env)

  it('is used by --profile and by PAGECACHE_PROFILE', async () => {
    const own = await remote.run('warmup:list', '--json')
    expect(await run(['warmup:list', '--json', '--profile', 'staging'])).toEqual(own)
    expect(await run(['warmup:list', '--json'], { PAGECACHE_PROFILE: 'staging' })).toEqual(own)
    expect(await run(['warmup:list', '--json'], { PAGECACHE_SERVER: remote.url, ...credentials() })).toEqual(own)
  })

  it('that is missing or incomplete is an error', async () => {
    expect(await run(['cache:stats', '--profile', 'stagin'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean staging?') as string,
    })
    expect(await run(['cache:stats', '--profile', 'broken'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('clientSecretFile') as string,
    })
    expect(await run(['cache:stats', '--profile', 'staging', '--server', remote.url])).toMatchObject({ code: 2 })
  })

  it('is named with every change, but not with what only reads', async () => {
    const named = `On staging (${remote.url}):\n`
    const purged = await run(['purge:tag', 'a', '--profile', 'staging', '--json'])
    expect(purged).toMatchObject({ code: 0, stderr: named })
    expect(JSON.parse(purged.stdout)).toMatchObject({ success: true })
    expect(await run(['reverse-proxy:clear', '--yes', '--profile', 'staging'])).toMatchObject({ stderr: named })
    expect(await run(['cache:list', '--profile', 'staging'])).toMatchObject({ stderr: '' })
  })

  it('is chosen with profile:use for one user and project, is named each time, and flags go before it', async () => {
    const env = { XDG_CONFIG_HOME: join(elsewhere.path, 'config') }
    const list = ['warmup:list', '--json']
    const own = await run(list)
    expect(await run(['profile:use', 'stagin'], env)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('Did you mean staging?') as string,
    })
    expect(await run(['profile:use', 'staging'], env)).toMatchObject({ code: 0, stdout: 'Commands run on staging.\n' })
    const chosen = await run(list, env)
    expect(chosen.stdout).toBe((await remote.run(...list)).stdout)
    expect(chosen.stderr).toBe(`On staging (${remote.url}):\n`)
    expect(await run(list)).toEqual(own)
    expect(await run([...list, '--env', 'prod'], env)).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('pagecache profile:use --here') as string,
    })
    // What runs on this machine only is not affected, even by a profile that no longer works.
    expect(await run(['config:validate', 'pagecache.yaml'], env)).toMatchObject({ code: 0, stderr: '' })
    expect(await run(['profile:use', 'broken'], env)).toMatchObject({ code: 0 })
    expect(await run(['profile:use', '--here'], env)).toMatchObject({ stdout: 'Commands run on this machine.\n' })
    expect(await run(list, env)).toEqual(own)
  })

  it('is named in confirmations, and its secret is never printed', async () => {
    const asked = await run(['reverse-proxy:clear', '--profile', 'staging'])
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining(`On staging (${remote.url})`) as string })
    const { stdout } = await run(['config:show', '--json', '--config', join(elsewhere.path, 'pagecache.yaml')])
    expect(stdout).toContain('secrets/staging')
    expect(stdout).not.toContain(client.clientSecret)
  })
})

describe('an error', () => {
  const stats = (server: string, env: Record<string, string> = credentials()) =>
    runCommand(['cache:stats', '--server', server], elsewhere.path, env)

  it.each([
    ['a closed port', async () => stats(`http://127.0.0.1:${await freePort()}`), 5, 'connection refused'],
    ['an unknown host', async () => stats('http://daemon.invalid'), 5, 'unknown host'],
    ['TLS where there is none', async () => stats(remote.url.replace('http:', 'https:')), 5, 'https://'],
    ['a shop', async () => stats(origin.url), 5, 'not as a pagecache daemon'],
    ['no URL', async () => stats('daemon'), 2, 'not the URL of a daemon'],
    [
      'a wrong secret',
      async () => stats(remote.url, { ...credentials(), PAGECACHE_CLIENT_SECRET: 'wrong' }),
      4,
      'wrong client ID or secret',
    ],
    ['no secret', async () => stats(remote.url, {}), 2, 'Not set: PAGECACHE_CLIENT_ID and PAGECACHE_CLIENT_SECRET'],
  ])('%s', async (_, run, code, message) => {
    const result = await run()
    expect(result.stderr).toContain(message)
    expect(result).toMatchObject({ code, stdout: '' })
    expect(result.stderr).not.toContain(client.clientSecret)
  })

  it('is raised for local flags with a daemon, but not for variables', async () => {
    const here = { PAGECACHE_ENV: 'staging', PAGECACHE_PROJECT_DIR: elsewhere.path, ...credentials() }
    expect(await stats(remote.url, here)).toMatchObject({ code: 0 })
    const run = (args: string[], env: Record<string, string> = {}) =>
      runCommand(['cache:stats', ...args], elsewhere.path, { ...credentials(), ...env })
    for (const flag of ['--env', '--project-dir', '--config']) {
      for (const [args, env] of [
        [['--server', remote.url], {}],
        [[], { PAGECACHE_SERVER: remote.url }],
      ] as [string[], Record<string, string>][]) {
        expect(await run([...args, flag, 'staging'], env)).toMatchObject({
          code: 2,
          stdout: '',
          stderr: expect.stringMatching(`^Error: ${flag} cannot be combined with`) as string,
        })
      }
    }
    expect(await run(['--profile', 'staging', '--project-dir', elsewhere.path])).toMatchObject({ code: 0 })
  })

  it('names the scope that a read-only client lacks', async () => {
    const reader = await createClient(remote, 'reader', 'read')
    const env = { PAGECACHE_CLIENT_ID: reader.clientId, PAGECACHE_CLIENT_SECRET: reader.clientSecret }
    expect(await stats(remote.url, env)).toMatchObject({ code: 0 })
    const refused = await runCommand(['vendor:cache:clear', '--server', remote.url], elsewhere.path, env)
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('scope write') as string })
  })
})
