import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { startDaemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin } from '../helpers/origin.ts'
import { childrenOf, cpuOf, isGone } from '../helpers/processes.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { page } from '../http/api/shop.ts'
import { until } from '../helpers/until.ts'
import { startBelowShell } from './below-shell.ts'

const id = '0190c0de-0000-7000-8000-000000000001'
const processes = 3

/** Starts a daemon whose configuration names one bypassed path. */
async function open() {
  const origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path}`) })
  const projectDir = await tempDir()
  const config = (url: string, path: string) => ({
    server: { processes, host: '127.0.0.1', port: Number(new URL(url).port) },
    salesChannels: [{ id, url, origin: origin.url }],
    cache: { bypass: { paths: [path] } },
  })
  const daemon = await startDaemon({ projectDir, args: ['--no-workers'], config: (url) => config(url, '/first') })
  onTestFinished(async () => {
    await daemon.stop()
    await origin.stop()
  })
  const bypasses = async (path: string) =>
    (await exchange(`${daemon.url}${path}`)).headers.get('cache-status')?.includes('fwd=bypass') === true
  return {
    daemon,
    reload: async (path: string) => {
      await writeFile(join(projectDir, 'pagecache.yaml'), stringify(config(daemon.url, path)))
      daemon.kill('SIGHUP')
    },
    /** Whether every process bypasses this path. Connections go to the processes in turns, but not to one that is stopped for a moment. */
    allBypass: async (path: string) => {
      for (let turn = 0; turn < 4 * processes; turn++) if (!(await bypasses(path))) return false
      return true
    },
    replaced: () => daemon.logs().split('of the daemon replaces it').length - 1,
    /** Waits for the replacement process and returns its id. */
    successor: async (before: readonly number[]) => {
      let now: number[] = []
      await until(async () => (now = (await childrenOf(daemon.pid)).filter((pid) => !before.includes(pid))).length > 0)
      return now[0]!
    },
  }
}

/** Signals a process that may have ended already: a stopped process is killed once it counts as hanging. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    expect(error).toMatchObject({ code: 'ESRCH' })
  }
}

it('a reload during the start of a process reaches that process too, and one among many counts if it is the last', async () => {
  const { daemon, reload, allBypass, replaced, successor } = await open()
  const victims = await childrenOf(daemon.pid)
  for (const [round, victim] of victims.entries()) {
    const before = await childrenOf(daemon.pid)
    process.kill(victim, 'SIGKILL')
    const pid = await successor(before)
    // Stop it in the middle of its start, later in each round. If it never uses that much CPU time, it is ready already.
    await until(async () => (await cpuOf(pid)) >= 50 + 40 * round || replaced() > round)
    signal(pid, 'SIGSTOP')
    await reload(`/round-${round}`)
    await until(() => allBypass(`/round-${round}`))
    signal(pid, 'SIGCONT')
    await until(() => replaced() > round)
    expect(await allBypass(`/round-${round}`)).toBe(true)
  }
  for (let time = 0; time < 20; time++) await reload(`/time-${time}`)
  await until(() => allBypass('/time-19'))
})

it('a reload while processes are killed reaches all their replacements', async () => {
  const { daemon, reload, allBypass, replaced } = await open()
  for (let round = 1; round <= 2; round++) {
    const victims = await childrenOf(daemon.pid)
    await reload(`/round-${round}`)
    for (const pid of victims) process.kill(pid, 'SIGKILL')
    await until(() => replaced() === round * processes)
    await until(() => allBypass(`/round-${round}`))
  }
  expect(await daemon.stop()).toBe(0)
})

describe('stopping', () => {
  it('during the restart of a process leaves no process behind', async () => {
    const { daemon, successor } = await open()
    const before = await childrenOf(daemon.pid)
    process.kill(before[0]!, 'SIGKILL')
    const pid = await successor(before)
    daemon.kill('SIGTERM')
    expect(await daemon.ended).toBe(0)
    expect(await isGone(pid)).toBe(true)
    expect(daemon.logs()).not.toContain('Could not start')
  })

  it('during the start exits with 0', async () => {
    const { pid, logs } = await startBelowShell(async (parent) => (await childrenOf(parent)).length > 0)
    const children = await childrenOf(pid)
    process.kill(pid, 'SIGTERM')
    await until(() => logs().includes('ended'))
    expect(logs()).toContain('ended 0')
    for (const pid of children) expect(await isGone(pid)).toBe(true)
    expect(logs()).not.toMatch(/fault|Error/)
  })
})
