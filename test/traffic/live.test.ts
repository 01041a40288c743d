import { mkdirSync, readdirSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toMatcher, toSeen, type LiveFilter } from '../../src/traffic/live/seen.ts'
import { LiveServer } from '../../src/traffic/live/serve-live.ts'
import { watchLive } from '../../src/traffic/live/watch-live.ts'
import { Window } from '../../src/traffic/live/window.ts'
import { Traffic, type Seen } from '../../src/traffic/traffic.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

const request = (more: Partial<Seen> & { target?: string } = {}): Seen => {
  const { target = '/shoes?token=secret', type = 'products', salesChannelId: channelId = 'shop', ...rest } = more
  const hit = { method: 'GET', result: 'hit', reason: null, status: 200, ms: 0.123456, host: 'shop.example' } as const
  return { ...toSeen({ ...hit, target }, { channelId, type }), ...rest }
}

/** A process that serves visitors, as far as watchers see it. */
async function openProcess(dataDir: string, errors: string[] = []): Promise<Traffic> {
  const traffic = new Traffic()
  const live = await LiveServer.open({ dataDir, traffic, onError: (message) => void errors.push(message) })
  onTestFinished(() => live.close())
  return traffic
}

function watch(dataDir: string, filter: LiveFilter = {}, onRequests: () => void | Promise<void> = () => {}) {
  const end = new AbortController()
  const watched = { processes: [] as number[], requests: [] as Seen[], notShown: 0 }
  const over = watchLive({
    dataDir,
    filter,
    signal: end.signal,
    onProcesses: (processes) => void watched.processes.push(processes),
    onRequests: ({ requests, notShown }) => {
      watched.requests.push(...requests)
      watched.notShown += notShown
      return onRequests()
    },
  })
  const stop = async () => {
    end.abort()
    await over
  }
  onTestFinished(stop)
  return { watched, stop }
}

describe('a window', () => {
  it('has every request, in order, as long as there are few', () => {
    const window = new Window()
    window.add(request({ at: 2 }))
    window.add(request({ at: 1 }))
    expect(window.take()).toMatchObject({ requests: [{ at: 1 }, { at: 2 }], notShown: 0 })
    expect(window.isEmpty).toBe(true)
  })

  it('has a uniform sample of many, and says how many it lacks', () => {
    let seed = 1
    const window = new Window(() => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647)
    const shown = Array.from({ length: 1000 }, () => 0)
    for (let round = 0; round < 400; round += 1) {
      for (let at = 0; at < 1000; at += 1) window.add(request({ at }))
      const { requests, notShown } = window.take()
      expect([requests.length, notShown]).toEqual([50, 950])
      for (const { at } of requests) shown[at]! += 1
    }
    // Each request has the chance 1 to 20: the first tenth of a window is shown as often as the last one.
    const share = (from: number) => shown.slice(from, from + 100).reduce((sum, each) => sum + each, 0) / (400 * 50)
    for (let from = 0; from < 1000; from += 100) expect(share(from)).toBeCloseTo(0.1, 1)
  })
})

it('contains the path without the query, cut where it is long', () => {
  expect(request().path).toBe('/shoes')
  expect(request({ target: `/${'x'.repeat(5000)}?a` }).path).toHaveLength(512)
  expect(JSON.stringify(request())).not.toContain('secret')
})

it.each<[LiveFilter, boolean]>([
  [{}, true],
  [{ result: ['miss', 'hit'] }, true],
  [{ result: ['miss'] }, false],
  [{ type: ['products'] }, true],
  [{ type: ['cms'] }, false],
  [{ path: '/sho' }, true],
  [{ path: '*oes' }, true],
  [{ path: '/hats' }, false],
  [{ salesChannelId: 'shop' }, true],
  [{ salesChannelId: 'other' }, false],
  [{ result: ['hit'], path: '/hats' }, false],
])('selects by %j', (filter, expected) => {
  expect(toMatcher(filter)(request())).toBe(expected)
})

describe('watching', () => {
  it('shows the requests of all processes, and costs nothing once everyone has left', async () => {
    const dataDir = await tempDir()
    const [one, two] = [await openProcess(dataDir), await openProcess(dataDir)]
    expect([one.live, two.live]).toEqual([null, null])
    const all = watch(dataDir)
    const misses = watch(dataDir, { result: ['miss'] })
    await until(() => all.watched.processes.at(-1) === 2 && misses.watched.processes.at(-1) === 2)
    one.live!.note(request({ target: '/one' }))
    two.live!.note(request({ target: '/two', result: 'miss', reason: 'expired' }))
    await until(() => all.watched.requests.length === 2 && misses.watched.requests.length === 1)
    expect(all.watched.requests.map(({ path }) => path).toSorted()).toEqual(['/one', '/two'])
    expect(misses.watched.requests).toMatchObject([{ path: '/two', reason: 'expired' }])
    await all.stop()
    await misses.stop()
    await until(() => one.live === null && two.live === null)
  })

  it('finds processes that start later, and survives those that end', async () => {
    const dataDir = await tempDir()
    const { watched } = watch(dataDir)
    await until(() => watched.processes.at(-1) === 0)
    const traffic = new Traffic()
    const live = await LiveServer.open({ dataDir, traffic, onError: expect.unreachable })
    await until(() => watched.processes.at(-1) === 1)
    await live.close()
    await until(() => watched.processes.at(-1) === 0)
    expect(readdirSync(join(dataDir, 'live'))).toEqual([])
  })

  it('thins what a slow reader is shown, without collecting it', async () => {
    const dataDir = await tempDir()
    const traffic = await openProcess(dataDir)
    const gate = Promise.withResolvers<void>()
    const { watched } = watch(dataDir, {}, () => gate.promise)
    await until(() => watched.processes.at(-1) === 1)
    for (let count = 0; count < 20_000; count += 1) traffic.live!.note(request())
    await until(() => watched.requests.length > 0)
    gate.resolve()
    await until(() => watched.requests.length + watched.notShown === 20_000)
    expect(watched.requests).toHaveLength(50)
  })

  it('shows a socket to its owner alone, and removes those of killed processes', async () => {
    const dataDir = await tempDir()
    await openProcess(dataDir)
    const directory = join(dataDir, 'live')
    const [name = ''] = readdirSync(directory)
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600)
    // Node removes the socket of a server that ends; this one has not ended by itself.
    const left = join(directory, 'left.sock')
    const server = createServer().listen(join(directory, 'moved.sock'))
    await once(server, 'listening')
    renameSync(join(directory, 'moved.sock'), left)
    await new Promise((resolve) => server.close(resolve))
    const longAgo = new Date(Date.now() - 60_000)
    utimesSync(left, longAgo, longAgo)
    const { watched } = watch(dataDir)
    await until(() => watched.processes.at(-1) === 1)
    await until(() => readdirSync(directory).length === 1)
  })

  it('survives watchers that send nonsense, nothing or too much', async () => {
    const dataDir = await tempDir()
    const traffic = await openProcess(dataDir)
    const [name = ''] = readdirSync(join(dataDir, 'live'))
    for (const text of ['nonsense\n', '\n', 'null\n', '{"type": 5}\n', 'x'.repeat(100_000)]) {
      const socket = connect(join(dataDir, 'live', name))
      socket.on('error', () => {})
      socket.write(text)
      socket.resume()
      await new Promise((resolve) => socket.once('close', resolve))
    }
    const { watched } = watch(dataDir)
    await until(() => watched.processes.at(-1) === 1)
    traffic.live!.note(request())
    await until(() => watched.requests.length === 1)
  })

  it('shows the other processes while one is frozen, and ends all the same', async () => {
    const dataDir = await tempDir()
    await openProcess(dataDir)
    // Accepts connections and never answers.
    const frozen = createServer().listen(join(dataDir, 'live', 'frozen.sock'))
    await once(frozen, 'listening')
    onTestFinished(() => void frozen.close())
    const { watched, stop } = watch(dataDir)
    await until(() => watched.processes.at(-1) === 1)
    await stop()
    const next = watch(dataDir)
    await next.stop()
  })

  it('closes while a client has not said what it wants to see', async () => {
    const dataDir = await tempDir()
    const live = await LiveServer.open({ dataDir, traffic: new Traffic(), onError: expect.unreachable })
    const [name = ''] = readdirSync(join(dataDir, 'live'))
    const socket = connect(join(dataDir, 'live', name))
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    await new Promise((resolve) => setImmediate(resolve))
    const closed = once(socket, 'close')
    socket.resume()
    await live.close()
    await closed
  })

  it('does without a socket that cannot be opened', async () => {
    const dataDir = await tempDir()
    const errors: string[] = []
    writeFileSync(join(dataDir, 'live'), 'a file')
    await openProcess(dataDir, errors)
    const deep = join(dataDir, 'x'.repeat(200))
    mkdirSync(deep)
    await openProcess(deep, errors)
    // The state directory was removed, and is not created again.
    await openProcess(join(dataDir, 'gone'), errors)
    expect(errors).toHaveLength(3)
  })
})
