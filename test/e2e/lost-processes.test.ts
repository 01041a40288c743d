import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { exchange } from '../helpers/exchange.ts'
import { childrenOf } from '../helpers/processes.ts'
import { openShop, type Shop } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'
import { read } from '../http/front/wire.ts'

async function open(processes = 2): Promise<Shop> {
  const shop = await openShop({
    config: { server: { processes } },
    args: ['--origin', 'http://127.0.0.1:1', '--no-workers'],
  })
  onTestFinished(() => shop.close())
  return shop
}

/** Stops one process and opens eight connections. The stopped process gets at most one of them; the other process answers the rest. */
async function askStopped(shop: Shop) {
  const [stopped] = await childrenOf(shop.daemon.pid)
  process.kill(stopped!, 'SIGSTOP')
  let answered = 0
  const answers = Promise.all(
    Array.from({ length: 8 }, () =>
      exchange(`${shop.daemon.url}/healthz`).then(({ status }) => ((answered += 1), status)),
    ),
  )
  await until(() => answered >= 7)
  return { stopped: stopped!, answers }
}

describe('with several processes', () => {
  it('a connection of a process that dies before accepting it goes to another process', async () => {
    const shop = await open()
    const { stopped, answers } = await askStopped(shop)
    process.kill(stopped, 'SIGKILL')
    expect(new Set(await answers)).toEqual(new Set([200]))
  })

  it('a hanging process is killed while the others keep answering', async () => {
    const shop = await open()
    const { stopped, answers } = await askStopped(shop)
    expect(new Set(await answers)).toEqual(new Set([200]))
    await until(() => shop.daemon.logs().includes(`Process ${stopped} of the daemon has not answered`))
    await until(async () => !(await childrenOf(shop.daemon.pid)).includes(stopped))
    await until(() => shop.daemon.logs().includes('of the daemon replaces it'))
    expect(await shop.daemon.stop()).toBe(0)
  })

  it('a process without free file handles leaves its connections to another one', async () => {
    const shop = await open()
    const [starved] = await childrenOf(shop.daemon.pid)
    execFileSync('prlimit', ['--pid', String(starved), '--nofile=3:'])
    const answers = await Promise.all(Array.from({ length: 8 }, () => shop.ask('/healthz')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await childrenOf(shop.daemon.pid)).toContain(starved)
  })

  it('the port stays open if all die, and visitors wait for the replacements', async () => {
    const shop = await open()
    const killed = await childrenOf(shop.daemon.pid)
    for (const pid of killed) process.kill(pid, 'SIGKILL')
    await until(async () => (await childrenOf(shop.daemon.pid)).every((pid) => !killed.includes(pid)))
    const answers = await Promise.all(Array.from({ length: 8 }, () => shop.ask('/healthz')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  })

  it('no visitor waits forever while processes are killed repeatedly', async () => {
    const shop = await open(3)
    let over = false
    const outcomes = new Map<string, number>()
    const visitors = Array.from({ length: 12 }, async () => {
      while (!over) {
        const outcome = await shop.ask('/healthz').then(
          ({ status }) => String(status),
          (error: NodeJS.ErrnoException) => error.code ?? error.message,
        )
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
    })
    for (let round = 0; round < 6; round++) {
      await until(async () => (await childrenOf(shop.daemon.pid)).length > 0)
      const [victim] = await childrenOf(shop.daemon.pid)
      process.kill(victim!, 'SIGKILL')
      const before = outcomes.get('200') ?? 0
      await until(() => (outcomes.get('200') ?? 0) > before + 50)
    }
    over = true
    await Promise.all(visitors)
    // Connections of a killed process are cut, which their clients notice.
    expect([...outcomes.keys()].filter((outcome) => !['200', 'ECONNRESET', 'EPIPE'].includes(outcome))).toEqual([])
  })

  it('slow clients get 408, as with a single process', async () => {
    const shop = await open()
    const begin = async (text: string) => {
      const socket = connect(shop.port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(text)
      return (await read(socket)).answers.map(({ status }) => status)
    }
    expect(await Promise.all([begin(''), begin(`GET / HTTP/1.1\r\nHost: ${shop.host}\r\n`), begin('GET /a')])).toEqual([
      [408],
      [408],
      [408],
    ])
  })
})
