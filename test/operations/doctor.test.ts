import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { closedPort, examine, server, shop } from './examine.ts'

describe('a project', () => {
  it('passes when it is empty, with a warning about the configuration', async () => {
    const { success, checks } = await examine(null)
    expect(success).toBe(true)
    expect(checks['configuration']).toMatchObject({
      status: 'warned',
      remedy: expect.stringContaining('pagecache init') as string,
    })
    for (const name of ['node', 'project directory', 'cache directory', 'data directory', 'records', 'page index']) {
      expect(checks[name], name).toMatchObject({ status: 'passed', remedy: null })
    }
  })

  it('reports an invalid configuration, and skips what depends on it', async () => {
    const { success, checks } = await examine('server: { port: x }')
    expect(success).toBe(false)
    expect(checks['configuration']).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('server.port') as string,
    })
    expect(checks['node']?.status).toBe('passed')
    expect(checks['free disk']?.status).toBe('passed')
    // The defaults would say that port 8080 is free.
    expect(checks['port']).toBeUndefined()
    expect(checks['records']).toBeUndefined()
    expect(checks['not checked']).toMatchObject({
      status: 'warned',
      message: expect.stringContaining('port') as string,
    })
  })

  it('fails if var is a file', async () => {
    const { checks } = await examine({ server }, (directory) => writeFile(join(directory, 'var'), ''))
    expect(checks['data directory']?.status).toBe('failed')
    expect(checks['cache directory']?.status).toBe('failed')
  })

  it('fails with a foreign database and does not change it', async () => {
    const { checks } = await examine({ server }, async (directory) => {
      await mkdir(join(directory, 'var/data/prod'), { recursive: true })
      await writeFile(
        join(directory, 'var/data/prod/records.sqlite'),
        'this is no database, and it is long enough to be looked at',
      )
    })
    expect(checks['records']).toMatchObject({ status: 'failed', remedy: expect.any(String) as string })
  })
})

it('the file of the error page is read', async () => {
  const config = { server, errorPage: 'sorry.html' }
  expect((await examine(config)).checks['error page']).toMatchObject({
    status: 'failed',
    message: expect.stringMatching(/errorPage .*ENOENT/) as string,
  })
  const { checks } = await examine(config, (directory) => writeFile(join(directory, 'sorry.html'), 'Sorry'))
  expect(checks['error page']).toMatchObject({ status: 'passed', message: 'sorry.html' })
})

describe('the key of customer tokens', () => {
  const config = { server, stages: { customerToken: { cookie: 'a', secretFile: 'customer.secret' } } }
  const secret = (text: string, mode: number) => (directory: string) =>
    writeFile(join(directory, 'customer.secret'), text, { mode })

  it('passes with a valid key', async () => {
    expect((await examine(config, secret('x'.repeat(32), 0o640))).checks['customer tokens']).toMatchObject({
      status: 'passed',
      message: expect.stringContaining('HS256') as string,
    })
  })

  it('fails with a missing or too short key and gives a remedy', async () => {
    expect((await examine(config)).checks['customer tokens']).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(/stages\.customerToken\.secretFile .*ENOENT/) as string,
    })
    const { success, checks } = await examine(config, secret('canary', 0o600))
    expect([success, checks['customer tokens']?.status, checks['customer tokens']?.remedy]).toEqual([
      false,
      'failed',
      'Create one with: openssl rand -hex 32',
    ])
    expect(JSON.stringify(checks)).not.toContain('canary')
  })

  it('warns if every user can read the key, and is skipped without one', async () => {
    expect((await examine(config, secret('x'.repeat(32), 0o644))).checks['customer tokens']).toMatchObject({
      status: 'warned',
      remedy: expect.stringMatching(/^chmod o= /) as string,
    })
    expect((await examine({ server })).checks['customer tokens']).toBeUndefined()
  })
})

describe('the public port', () => {
  const other = (url: string) => ({ id: '0190c0de-0000-7000-8000-000000000002', url, origin: 'http://127.0.0.1:1' })

  it('warns if it is closed', async () => {
    const [own, typed] = [await closedPort(), await closedPort()]
    const { checks } = await examine({
      server: { port: own },
      salesChannels: [other(`http://127.0.0.1:${typed}`), other(`http://shop.invalid:${typed}/de`)].map(
        (one, number) => ({ ...one, id: `0190c0de-0000-7000-8000-00000000000${number}` }),
      ),
    })
    expect(checks[`port of http://127.0.0.1:${typed}`]).toMatchObject({
      status: 'warned',
      message: `Could not connect to port ${typed} (ECONNREFUSED); the daemon listens on port ${own}.`,
      remedy: `Set server.port to ${typed}, or have a web server forward port ${typed} to the daemon.`,
    })
    expect(checks[`port of http://shop.invalid:${typed}`]).toMatchObject({
      status: 'warned',
      message: expect.stringContaining(`port ${typed} of this machine is closed`) as string,
    })
  })

  it('passes if a web server listens on it, and is skipped if it is the daemon’s own', async () => {
    const [own, front] = [await closedPort(), await shop((_, response) => response.end())]
    const { checks } = await examine({ server: { port: own }, salesChannels: [other(`http://127.0.0.1:${front}`)] })
    expect(checks[`port of http://127.0.0.1:${front}`]?.status).toBe('passed')
    const { checks: direct } = await examine({
      server: { port: own },
      salesChannels: [other(`http://127.0.0.1:${own}`)],
    })
    expect(direct[`port of http://127.0.0.1:${own}`]).toBeUndefined()
  })
})

describe('the command', () => {
  it('exits with 1 and names the failed check with its remedy', async () => {
    const cwd = await tempDir()
    await writeFile(join(cwd, 'pagecache.yaml'), 'server: { port: x }')
    const { code, stdout, stderr } = await run(['doctor'], { cwd })
    expect(stdout).toMatch(/^FAIL {2}configuration: The configuration has an error:/m)
    expect(stderr).toBe('')
    expect(code).toBe(1)
  })

  it('prints the same list with --json', async () => {
    const cwd = await tempDir()
    await writeFile(join(cwd, 'pagecache.yaml'), 'server: { port: x }')
    const { code, stdout } = await run(['doctor', '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({
      success: false,
      checks: expect.arrayContaining([expect.objectContaining({ name: 'configuration', status: 'failed' })]) as unknown,
    })
    expect(code).toBe(1)
  })

  it('warns about an unknown PAGECACHE_ variable', async () => {
    const { stdout } = await run(['doctor'], {
      cwd: await tempDir(),
      env: { PAGECACHE_SERVER_PROT: '1', PAGECACHE_SERVER_PORT: '0' },
    })
    expect(stdout).toContain(
      'PAGECACHE_SERVER_PROT is not a known setting and is ignored.\n      Did you mean PAGECACHE_SERVER_PORT?',
    )
  })
})
