import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { startDaemon, type DaemonOptions } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { childrenOf } from '../helpers/processes.ts'
import { page } from '../http/api/shop.ts'

const options = ['--use-largepages=silent', '--min-semi-space-size=12']

beforeAll(() => void vi.stubEnv('PAGECACHE_TEST_NODE_OPTIONS', undefined))
afterAll(() => vi.unstubAllEnvs())

async function start(given: DaemonOptions = {}) {
  const origin = await startOrigin({ otherwise: () => page('a page') })
  onTestFinished(() => origin.stop())
  const daemon = await startDaemon({ args: ['--origin', origin.url], ...given })
  onTestFinished(async () => void (await daemon.stop()))
  return daemon
}

/** The options of Node that a process was started with (Linux). */
async function optionsOf(pid: number): Promise<string[]> {
  const [, ...words] = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
  return words.slice(
    0,
    words.findIndex((word) => word.endsWith('run.js')),
  )
}

it('the daemon restarts with options of Node in the process that it was started in, and keeps those it was given', async () => {
  const daemon = await start({ prefix: ['env', 'NODE_OPTIONS=--no-deprecation'] })
  expect(await optionsOf(daemon.pid)).toEqual(options)
  expect(await readFile(`/proc/${daemon.pid}/environ`, 'utf8')).toContain('NODE_OPTIONS=--no-deprecation')
  expect((await fetch(daemon.url)).status).toBe(200)
  expect(daemon.logs()).not.toContain('Warning')
  expect(await daemon.stop()).toBe(0)
})

it('the processes of a daemon have the same options', async () => {
  const daemon = await start({ config: { server: { processes: 2 } } })
  const children = await childrenOf(daemon.pid)
  expect(children.length).toBeGreaterThanOrEqual(2)
  for (const pid of children) expect(await optionsOf(pid)).toEqual(expect.arrayContaining(options))
})

it('a daemon whose NODE_OPTIONS decide about large pages keeps its own', async () => {
  const daemon = await start({ env: { NODE_OPTIONS: '--use-largepages=off' } })
  expect(await optionsOf(daemon.pid)).toEqual([])
})
