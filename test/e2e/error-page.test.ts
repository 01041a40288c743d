import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../helpers/commands.ts'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { scratch, type Scratch } from '../helpers/scratch.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'
import { page } from '../http/api/shop.ts'
import { speak } from '../http/front/wire.ts'

const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
const id = /^[\da-f]{8}-[\da-f-]{27}$/

describe('while the shop is down', () => {
  let files: Scratch
  let origin: Origin
  let daemon: Daemon
  beforeAll(async () => {
    files = await scratch('error-page')
    origin = await startOrigin({ otherwise: () => page('a page') })
    origin.on('/broken', (_, response) => void response.socket!.destroy())
    origin.on('/checkout/broken', (_, response) => void response.socket!.destroy())
    origin.on('/own', { status: 503, headers: { 'content-type': 'text/html' }, body: 'maintenance' })
    await writeFile(join(files.path, 'sorry.html'), '<h1>Sorry {{status}}</h1><p>{{requestId}}')
    daemon = await startDaemon({
      projectDir: files.path,
      config: { errorPage: 'sorry.html', log: { access: true } },
      args: ['--origin', origin.url, '--no-workers'],
    })
  })
  afterAll(async () => {
    await daemon?.stop()
    await origin?.stop()
    await files?.discard()
  })
  const ask = (path: string, headers: Record<string, string> = { accept }, method = 'GET') =>
    exchange(`${daemon.url}${path}`, { method, headers })

  // A page of the cache goes through Node's server, the basket straight from the socket.
  it.each(['/broken', '/checkout/broken'])('a person gets the page with the ID of the log: %s', async (path) => {
    const answer = await ask(path)
    expect(answer.status).toBe(502)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-length')).toBe(String(answer.body.length))
    const [, shown] = /^<h1>Sorry 502<\/h1><p>(.*)$/.exec(String(answer.body))!
    expect(shown).toMatch(id)
    await until(() => daemon.logs().includes(shown!))
  })

  it.each(['/broken', '/checkout/broken'])('a program gets text: %s', async (path) => {
    for (const headers of [{}, { accept: 'application/json' }, { accept, 'x-requested-with': 'XMLHttpRequest' }]) {
      const answer = await ask(path, headers)
      expect([answer.status, String(answer.body)]).toEqual([
        502,
        'The shop is unreachable or sent an invalid response.\n',
      ])
    }
  })

  it.each(['/broken', '/checkout/broken'])('HEAD has no body, and the connection goes on: %s', async (path) => {
    const line = (method: string) => `${method} ${path} HTTP/1.1\r\nHost: ${daemon.host}\r\nAccept: ${accept}\r\n\r\n`
    const { answers } = await speak(daemon.port, [line('HEAD'), line('GET')], { answers: 2, methods: ['HEAD', 'GET'] })
    expect(answers.map(({ status, body }) => [status, body.slice(0, 10)])).toEqual([
      [502, ''],
      [502, '<h1>Sorry '],
    ])
  })

  it('an error page of the shop itself is passed on, and no error page is stored', async () => {
    expect(String((await ask('/own')).body)).toBe('maintenance')
    origin.on('/broken', page('repaired'))
    expect(String((await ask('/broken')).body)).toContain('repaired')
  })

  it('a reload reads the file again, and keeps the previous page where it is unreadable', async () => {
    origin.on('/again', (_, response) => void response.socket!.destroy())
    await writeFile(join(files.path, 'sorry.html'), 'Changed')
    expect((await daemon.run('config:reload')).code).toBe(0)
    expect(String((await ask('/again')).body)).toBe('Changed')
    await writeFile(join(files.path, 'sorry.html'), 'x'.repeat(256 * 1024 + 1))
    const { code, stderr } = await daemon.run('config:reload')
    expect([code, stderr]).toEqual([2, expect.stringContaining('larger than 256 KB')])
    expect(String((await ask('/again')).body)).toBe('Changed')
  })
})

it.each([
  ['that is missing', 'missing.html', 'ENOENT'],
  ['that is a device', '/dev/zero', 'it is not a regular file'],
  ['that is no text', 'binary.html', 'it is not UTF-8 text'],
])('a file %s is an error of the configuration', async (_, errorPage, problem) => {
  const projectDir = await tempDir()
  await writeFile(join(projectDir, 'pagecache.yaml'), `errorPage: ${errorPage}\n`)
  await writeFile(join(projectDir, 'binary.html'), Buffer.from([0xff, 0xfe]))
  for (const command of [
    ['serve', '--origin', 'http://127.0.0.1:1'],
    ['config:validate', 'pagecache.yaml'],
  ]) {
    const { code, stderr } = await runCommand(command, projectDir)
    expect([code, stderr]).toEqual([2, expect.stringContaining(`errorPage (pagecache.yaml:1): cannot be read: `)])
    expect(stderr).toContain(problem)
  }
})
