import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'
import { freePort } from './daemon.ts'
import { until } from './until.ts'

/** A Redis server of the tests' own, in memory, on a port of 127.0.0.1. */
export interface Redis {
  url: string
  port: number
  /** Runs a command. */
  run(...args: (string | Buffer)[]): Promise<unknown>
  /** Sends a signal to the server: `SIGSTOP` freezes it. */
  signal(name: NodeJS.Signals): void
  /** Ends the server at once, which forgets everything. */
  kill(): Promise<void>
  /** Starts it again after `kill`. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Whether the server is installed. Tests that need it are skipped otherwise. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0

/** @param settings more of the server's settings, such as `maxmemory` */
export async function startRedis(settings: Record<string, string> = {}): Promise<Redis> {
  const directory = mkdtempSync(join(tmpdir(), 'pagecache-redis-'))
  const port = await freePort()
  const { requirepass, ...rest } = settings
  const url = `redis://127.0.0.1:${port}`
  const all = { bind: '127.0.0.1', port: String(port), dir: directory, save: '', appendonly: 'no', ...rest }
  const options = Object.entries({ ...all, ...(requirepass !== undefined && { requirepass }) })
  const spawned = () =>
    spawn(
      'redis-server',
      options.flatMap(([name, value]) => [`--${name}`, value]),
      { stdio: 'ignore' },
    )
  let server = spawned()
  const connect = async () => {
    const client = createClient({
      url,
      ...(requirepass !== undefined && { password: requirepass }),
      disableOfflineQueue: true,
      socket: { reconnectStrategy: false },
    })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const run: Redis['run'] = async (...args) => {
    const client = await connect()
    try {
      return await client.sendCommand(args)
    } finally {
      client.destroy()
    }
  }
  const answers = () => until(() => run('PING').then(() => true))
  await answers()
  const end = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.kill('SIGKILL')
    await ended
  }
  return {
    url,
    port,
    run,
    signal: (name) => void server.kill(name),
    kill: end,
    async start() {
      server = spawned()
      await answers()
    },
    async stop() {
      await end()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
