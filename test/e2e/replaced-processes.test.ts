import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { answers } from '../helpers/child.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin } from '../helpers/origin.ts'
import { childrenOf, isGone } from '../helpers/processes.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { page } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'
import { startBelowShell } from './below-shell.ts'

const id = '0190c0de-0000-7000-8000-000000000001'

/** Starts a daemon with two processes and a configuration file that can be rewritten. */
async function openBypassing(path: string) {
  const origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path}`) })
  const projectDir = await tempDir()
  const bypassing = (url: string, bypassed: string) => ({
    server: { processes: 2, host: '127.0.0.1', port: Number(new URL(url).port) },
    salesChannels: [{ id, url, origin: origin.url }],
    cache: { bypass: { paths: [bypassed] } },
  })
  const daemon = await startDaemon({ projectDir, args: ['--no-workers'], config: (url) => bypassing(url, path) })
  onTestFinished(async () => {
    await daemon.stop()
    await origin.stop()
  })
  const write = (text: string) => writeFile(join(projectDir, 'pagecache.yaml'), text)
  return { daemon, write, bypass: (other: string) => write(stringify(bypassing(daemon.url, other))) }
}

describe('a child process', () => {
  it('that replaces another one uses the last valid configuration, not the file', async () => {
    const { daemon, write, bypass } = await openBypassing('/private')
    const replaceAll = async () => {
      const killed = await childrenOf(daemon.pid)
      for (const pid of killed) process.kill(pid, 'SIGKILL')
      await until(async () => (await Promise.all(killed.map(isGone))).every(Boolean))
      // Retried: a request that a killed process had accepted is never answered.
      await until(() => answers(`${daemon.url}/readyz`))
    }
    const bypasses = async (path: string) =>
      (await exchange(`${daemon.url}${path}`)).headers.get('cache-status')?.includes('fwd=bypass')
    await bypass('/other')
    await replaceAll()
    expect([await bypasses('/private'), await bypasses('/other')]).toEqual([true, false])
    daemon.kill('SIGHUP')
    await until(() => daemon.logs().includes('The configuration was reloaded'))
    await write('{{{ no yaml')
    daemon.kill('SIGHUP')
    await until(() => daemon.logs().includes('was not reloaded'))
    await replaceAll()
    expect([await bypasses('/private'), await bypasses('/other')]).toEqual([false, true])
    expect(await daemon.stop()).toBe(0)
    for (const line of daemon.logs().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg')
  })

  it.each([
    { when: 'while it starts', ready: async (pid: number) => (await childrenOf(pid)).length > 0 },
    { when: 'when it is ready', ready: async (_: number, logs: string) => logs.includes('listens on') },
  ])('whose parent is killed $when ends silently', async ({ ready }) => {
    const { pid, logs } = await startBelowShell(ready)
    const children = await childrenOf(pid)
    expect(children).not.toEqual([])
    process.kill(pid, 'SIGKILL')
    await until(async () => (await Promise.all(children.map(isGone))).every(Boolean))
    expect(logs()).not.toMatch(/EPIPE|Error/)
  })
})
