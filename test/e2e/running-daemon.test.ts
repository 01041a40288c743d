import { rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { runCommand } from '../helpers/commands.ts'
import { freePort, startDaemon, type Daemon, type DaemonOptions } from '../helpers/daemon.ts'
import { exchange, untilHit } from '../helpers/exchange.ts'
import { startOrigin, type Origin, type Reply } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { hasTmux, openTerminal } from '../helpers/tmux.ts'
import { until } from '../helpers/until.ts'
import { page } from '../http/api/shop.ts'

const id = '0190c0de-0000-7000-8000-000000000001'
const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

async function shop(reply: (path: string) => Reply = (path) => page(`page of ${path}`)) {
  const origin = await startOrigin({ otherwise: (request) => reply(request.path) })
  onTestFinished(() => origin.stop())
  return origin
}

async function open(options: DaemonOptions) {
  const daemon = await startDaemon({ projectDir: await tempDir(), ...options })
  onTestFinished(async () => void (await daemon.stop()))
  return daemon
}

function channel(url: string, origin: string) {
  return { id, url, origin }
}

function fileOf(daemon: { projectDir: string }) {
  return join(daemon.projectDir, 'pagecache.yaml')
}

describe('the shop of serve --origin', () => {
  let origin: Origin
  let daemon: Daemon

  beforeAll(async () => {
    origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path}`) })
    daemon = await startDaemon({ args: ['--origin', origin.url, '--no-workers'] })
  })
  afterAll(async () => {
    await daemon?.stop()
    await origin?.stop()
  })

  it('is known to the other commands, under each name of the daemon', async () => {
    const warmed = await daemon.run('warmup:start', `${daemon.url}/a`, '--wait', '--json')
    expect(warmed.stderr).not.toContain('Warning')
    for (const command of [['warmup:start', '/a', '--wait'], ['warmup:progress'], ['warmup:watch', '--no-tui']])
      expect(await daemon.run(...command, '--quiet')).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(JSON.parse(warmed.stdout).progress).toMatchObject({ total_urls: 1, failed_urls: 0 })
    for (const host of [daemon.host, `localhost:${daemon.port}`]) {
      const { stdout } = await daemon.run('cache:inspect', `http://${host}/a`, '--json')
      expect(JSON.parse(stdout)).toMatchObject({ cached: true })
    }
    expect((await daemon.run('config:show')).stdout).toMatch(/salesChannels\[0\]\.url\s+\S+\s+the running daemon/)
  })

  it('is named by every command that finds sales channels of its own', async () => {
    const written = await daemon.run('init', '--url', 'http://shop.example', '--origin', origin.url, '--force')
    expect(written.stdout).toContain(
      `still serves ${daemon.url} for serve --origin. Stop it, then run pagecache serve.`,
    )
    for (const command of ['cache:stats', 'messenger:stats']) {
      const { code, stdout, stderr } = await daemon.run(command, '--json')
      expect(code).toBe(0)
      expect(() => JSON.parse(stdout)).not.toThrow()
      expect(stderr).toContain(`serves ${daemon.url} for serve --origin, not the sales channels of`)
      expect(stderr).toContain('start it without --origin')
    }
    // A file with the URL of the daemon does not replace its shop either.
    await daemon.run('init', '--url', daemon.url, '--origin', origin.url, '--force')
    const reloaded = await daemon.run('config:reload')
    expect(reloaded.stderr).toMatch(/serves .* for serve --origin, not .* Stop it and start it without --origin/)
    expect((await daemon.run('doctor')).stdout).toMatch(
      /warn {2}daemon: .* for serve --origin, not the sales channels of/,
    )
  })

  it('is not adopted from a daemon that was killed', async () => {
    await rm(fileOf(daemon))
    expect((await daemon.run('config:show')).stdout).toContain('the running daemon')
    daemon.kill('SIGKILL')
    await daemon.ended
    expect((await daemon.run('config:show')).stdout).not.toContain('the running daemon')
    expect((await daemon.run('config:reload')).code).toBe(3)
  })

  it('keeps the flags of the daemon: --ttl and --port', async () => {
    const origin = await shop(() => ({ headers: { 'content-type': 'text/html' }, body: '<html>' }))
    const daemon = await open({ args: ['--origin', origin.url, '--ttl', '10m'] })
    await exchange(`${daemon.url}/`)
    await untilHit(() => exchange(`${daemon.url}/`))
    const { checks } = JSON.parse((await daemon.run('doctor', '--json')).stdout)
    expect(checks).toContainEqual(expect.objectContaining({ name: 'daemon', status: 'passed' }))
    expect(checks.map((check: { name: string }) => check.name)).not.toContain(`lifetime of ${daemon.url}`)
  })
})

describe('a configuration that differs from the running daemon’s', () => {
  it('is named with its keys by commands and doctor, until the daemon reads it', async () => {
    const origin = await shop()
    const daemon = await open({ config: (url) => ({ salesChannels: [channel(url, origin.url)] }) })
    expect((await daemon.run('cache:stats')).stderr).toBe('')
    const { port } = daemon
    const config = { server: { port }, salesChannels: [channel(daemon.url, origin.url)], cache: { defaultTtl: '9m' } }
    await writeFile(fileOf(daemon), stringify(config))
    const { stderr } = await daemon.run('cache:stats', '--debug')
    expect(stderr).toMatch(/has other settings than this command: cache\.defaultTtl\.\n.*config:reload/)
    // Two operations of one command find out the same.
    expect(stderr.split('has other settings')).toHaveLength(2)
    expect(stderr.split('debug: environment')).toHaveLength(2)
    await writeFile(join(daemon.projectDir, 'other.yaml'), stringify(config))
    expect((await daemon.run('cache:stats', '--config', 'other.yaml')).stderr).toMatch(
      /It reads \S+pagecache\.yaml: use that file too, or restart it with --config \S+other\.yaml\./,
    )
    expect((await daemon.run('doctor')).stdout).toMatch(/warn {2}daemon: .*cache\.defaultTtl/)
    const reloaded = await daemon.run('config:reload', '--json')
    expect(JSON.parse(reloaded.stdout)).toMatchObject({ success: true, channels: [{ url: daemon.url }] })
    expect((await daemon.run('cache:stats')).stderr).toBe('')
  })
})

describe('a daemon without a shop', () => {
  let daemon: Daemon

  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterAll(() => daemon?.stop())

  it('is not started twice: serve names the daemon of the same project that has its port', async () => {
    const second = await daemon.run('serve', '--port', String(daemon.port))
    expect(second.code).toBe(1)
    expect(second.stderr).toContain(`The daemon of this project runs already: ${daemon.url}, process `)
    expect(second.stderr).toContain('pagecache config:reload')
  })

  it('is noticed by the doctor of another project with its port', async () => {
    const projectDir = await tempDir()
    await writeFile(join(projectDir, 'pagecache.yaml'), stringify({ server: { port: daemon.port } }))
    const { code, stdout } = await runCommand(['doctor'], projectDir)
    expect(code).toBe(1)
    expect(stdout).toContain(`A daemon of another project or environment is running at 127.0.0.1:${daemon.port}.`)
    expect((await daemon.run('doctor')).stdout).toContain(`the daemon is running at 127.0.0.1:${daemon.port}`)
  })

  it('is told apart from a command that has a variable of its own', async () => {
    const env = { PAGECACHE_CACHE_DEFAULT_TTL: '1h' }
    const { stderr } = await runCommand(['cache:stats'], daemon.projectDir, env)
    expect(stderr).toContain('cache.defaultTtl (from PAGECACHE_CACHE_DEFAULT_TTL)')
  })

  it('needs a restart after a change in the section server, which config:reload says too', async () => {
    await writeFile(fileOf(daemon), stringify({ server: { port: daemon.port, stopGrace: '3s' } }))
    const { code, stderr } = await daemon.run('config:reload')
    expect(code).toBe(0)
    expect(stderr).toMatch(/Warning: .*server\.stopGrace.* restarted/)
    expect((await daemon.run('cache:stats')).stderr).toContain('server.stopGrace')
  })
})

describe.each([1, 2])('config:reload with %i processes', (processes) => {
  it('applies a valid file to every process, and keeps the configuration where the file is invalid', async () => {
    const origin = await shop()
    const config = (url: string, paths: string[]) => ({
      server: { processes, port: Number(new URL(url).port) },
      salesChannels: [channel(url, origin.url)],
      cache: { bypass: { paths } },
    })
    const daemon = await open({ config: (url) => config(url, ['/first']) })
    const bypasses = async (path: string) => {
      const answers = await Promise.all(Array.from({ length: 4 }, () => exchange(`${daemon.url}${path}`)))
      return answers.map(({ headers }) => headers.get('cache-status')?.includes('fwd=bypass'))
    }
    await writeFile(fileOf(daemon), stringify(config(daemon.url, ['/second'])))
    expect((await daemon.run('config:reload')).code).toBe(0)
    expect(await bypasses('/second')).toEqual([true, true, true, true])
    await writeFile(fileOf(daemon), 'cachee: 1\n')
    const refused = await daemon.run('config:reload', '--config', join(daemon.projectDir, 'none.yaml'))
    expect(refused.code).toBe(2)
    const kept = await runCommand(['config:reload'], daemon.projectDir)
    expect(kept).toMatchObject({ code: 2, stderr: expect.stringContaining('cachee') })
    expect(await bypasses('/second')).toEqual([true, true, true, true])
  })
})

describe('serve --watch-config', () => {
  it('reads a file that is replaced, and one behind a symbolic link', async () => {
    const daemon = await open({ args: ['--watch-config'] })
    const loads = () => daemon.logs().split('The configuration was reloaded').length - 1
    const file = fileOf(daemon)
    const write = (path: string, defaultTtl: string) =>
      writeFile(path, stringify({ server: { port: daemon.port }, cache: { defaultTtl } }))
    await write(`${file}.new`, '1m')
    await rename(`${file}.new`, file)
    await until(() => loads() === 1)
    await write(join(daemon.projectDir, 'other.yaml'), '2m')
    await unlink(file)
    await symlink('other.yaml', file)
    await until(() => loads() === 2)
    // The daemon describes its new settings to other commands after it has logged.
    await until(async () => expect((await daemon.run('cache:stats')).stderr).toBe(''))
  })
})

it('config:validate lists every error of a file, config:path names the file in use', async () => {
  const projectDir = await tempDir()
  await writeFile(join(projectDir, 'draft.yaml'), 'cache: { memory: much }\nserver: { port: 99999 }\n')
  const invalid = await runCommand(['config:validate', 'draft.yaml'], projectDir)
  expect(invalid.code).toBe(2)
  expect(invalid.stderr).toContain('cache.memory')
  expect(invalid.stderr).toContain('server.port')
  await writeFile(join(projectDir, 'draft.yaml'), 'cache: { memory: 1MB }\n')
  expect(await runCommand(['config:validate', 'draft.yaml'], projectDir)).toMatchObject({ code: 0 })
  const path = await runCommand(['config:path'], projectDir)
  expect(path).toMatchObject({ code: 0, stdout: `${join(projectDir, 'pagecache.yaml')}\n` })
})

it('a shop that names no lifetimes is reported once, by the daemon, doctor and cache:inspect', async () => {
  const origin = await shop(() => ({ headers: { 'content-type': 'text/html' }, body: '<html>' }))
  const daemon = await open({ args: ['--origin', origin.url] })
  for (let page = 0; page < 12; page++) await exchange(`${daemon.url}/page-${page}`)
  await until(() => daemon.logs().includes('names no lifetime'))
  expect(daemon.logs().split('names no lifetime')).toHaveLength(2)
  expect((await daemon.run('doctor')).stdout).toMatch(/warn {2}lifetime of .*\n.*pagecache serve --ttl 10m/)
  expect((await daemon.run('cache:inspect', `${daemon.url}/new`)).stdout).toContain('pagecache serve --ttl 10m')
})

it('a shop that names lifetimes for its pages and forbids others is not reported', async () => {
  const html = { 'content-type': 'text/html' }
  const origin = await shop((path) =>
    path === '/shop'
      ? { headers: { ...html, 'cache-control': 's-maxage=60' }, body: '<html>' }
      : { headers: path.startsWith('/private') ? { ...html, 'cache-control': 'private' } : html, body: '<html>' },
  )
  const daemon = await open({ args: ['--origin', origin.url] })
  for (const path of [
    '/private-1',
    '/private-2',
    '/private-3',
    '/private-4',
    '/private-5',
    '/shop',
    '/1',
    '/2',
    '/3',
    '/4',
    '/5',
  ])
    await exchange(daemon.url + path)
  await daemon.stop()
  expect(daemon.logs()).not.toContain('names no lifetime')
})

describe.skipIf(!hasTmux)('on a terminal (tmux)', () => {
  it('greets, reloads on SIGHUP, and ends when the terminal is closed', async () => {
    const origin = await shop()
    const projectDir = await tempDir()
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const command = `echo $$ > pid; exec ${process.execPath} ${program} serve --origin ${origin.url} --port ${port}`
    const terminal = await openTerminal(`sh -c '${command}'`, { columns: 120, rows: 30, cwd: projectDir })
    await terminal.see(`Admin page   ${url}/admin`)
    await terminal.see('pagecache client:create')
    expect((await runCommand(['config:reload'], projectDir)).code).toBe(0)
    await terminal.see('The configuration was reloaded.')
    await terminal.close()
    await until(async () => (await exchange(`${url}/healthz`).catch(() => null)) === null)
    // It still closes its records when it no longer listens.
    await until(async () => expect((await runCommand(['config:reload'], projectDir)).code).toBe(3))
  })
})
