import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { startChild, type Child } from '../helpers/child.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin } from '../helpers/origin.ts'
import { childrenOf, isGone } from '../helpers/processes.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { page } from '../http/api/shop.ts'
import { speak } from '../http/front/wire.ts'
import { until } from '../helpers/until.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const id = '0190c0de-0000-7000-8000-000000000001'

/** Passes sockets like systemd: `exec` keeps the shell's process id for the program. */
const handOver = (sockets: number) => `LISTEN_FDS=${sockets} LISTEN_PID=$$ exec "$@"`
/** Keeps the socket open like systemd and restarts the program whenever the file `start` appears. */
const keepStarting = `while :; do until [ -e start ]; do sleep 0.05; done; rm start; sh -c '${handOver(1)}' sh "$@"; done`

interface Activated {
  child: Child
  url: string
  /** Starts the program again, with `keepStarting`. */
  start(): Promise<void>
}

async function activate(
  script: string,
  server: Record<string, unknown> = {},
  settings: Record<string, unknown> = {},
): Promise<Activated> {
  const origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path}`) })
  onTestFinished(() => origin.stop())
  const cwd = await tempDir()
  const start = () => writeFile(join(cwd, 'start'), '')
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const url = `http://127.0.0.1:${(listener.address() as { port: number }).port}`
  await writeFile(
    join(cwd, 'pagecache.yaml'),
    stringify({ server, ...settings, salesChannels: [{ id, url, origin: origin.url }] }),
  )
  await start()
  const { fd } = (listener as unknown as { _handle: { fd: number } })._handle
  try {
    const child = await startChild(['sh', '-c', script, 'sh', process.execPath, program, 'serve', '--no-workers'], {
      cwd,
      env: { ...process.env, PAGECACHE_PROJECT_DIR: cwd },
      ready: (logs) => logs.includes('pagecache listens on'),
      handOver: fd,
    })
    onTestFinished(async () => void (await child.stop()))
    return { child, url, start }
  } finally {
    // The child has its own copy of the socket.
    listener.close()
  }
}

describe('a socket passed by systemd', () => {
  it('is used instead of server.socket, with several processes too', async () => {
    const { child, url } = await activate(handOver(1), { processes: 2, socket: join(await tempDir(), 'unused.sock') })
    expect(child.logs()).toContain('inherited socket 3')
    for (let count = 0; count < 6; count++) expect((await exchange(`${url}/a`)).status).toBe(200)
    const killed = await childrenOf(child.pid)
    expect(killed).toHaveLength(2)
    for (const pid of killed) process.kill(pid, 'SIGKILL')
    await until(async () => (await childrenOf(child.pid)).every((pid) => !killed.includes(pid)))
    // systemd would not pass the socket again: the parent must have kept it.
    expect((await exchange(`${url}/a`)).status).toBe(200)
    expect(await child.stop()).toBe(0)
  })

  it('keeps visitors waiting while the daemon restarts', async () => {
    const { child, url, start } = await activate(keepStarting)
    expect((await exchange(`${url}/a`)).status).toBe(200)
    const [daemon] = await childrenOf(child.pid)
    process.kill(daemon!, 'SIGTERM')
    await until(() => isGone(daemon!))
    const visitors = Promise.all(['/a', '/b', '/c'].map((path) => exchange(`${url}${path}`)))
    await start()
    expect((await visitors).map(({ status }) => status)).toEqual([200, 200, 200])
  })

  it('serves connections that begin with a PROXY header, and no others', async () => {
    const { url } = await activate(
      handOver(1),
      { processes: 2, proxyProtocol: true },
      { trustedProxies: ['127.0.0.1'], purgers: ['192.0.2.7'] },
    )
    const port = Number(new URL(url).port)
    const ask = async (header: string, method: string) => {
      const request = `${method} /a HTTP/1.1\r\nHost: ${new URL(url).host}\r\nConnection: close\r\n\r\n`
      return (await speak(port, [header, request])).answers.map(({ status }) => status)
    }
    expect(await ask('PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n', 'GET')).toEqual([200])
    expect(await ask('PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n', 'PURGE')).toEqual([200])
    expect(await ask('PROXY TCP4 192.0.2.8 192.0.2.1 4711 80\r\n', 'PURGE')).toEqual([403])
    expect(await ask('PROXY UNKNOWN\r\n', 'PURGE')).toEqual([403])
    expect(await ask('', 'GET')).toEqual([])
  })

  it('several sockets are an error', async () => {
    await expect(activate(handOver(2))).rejects.toThrow(
      /ended \(1\).*Received 2 sockets from systemd; the daemon supports one.*ListenStream=/s,
    )
  })
})
