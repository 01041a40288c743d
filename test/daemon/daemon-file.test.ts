import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { daemonFile, findDaemon, staleAfter } from '../../src/config/running-daemon.ts'
import { DaemonFile } from '../../src/daemon/daemon-file.ts'
import { load } from '../config/loading.ts'

it('a daemon that could not describe itself does so once that is possible, and reports it once', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const loaded = await load(null)
  const { dataDir } = loaded.places
  // Stands for a full disk: the file cannot take the place of this directory.
  await mkdir(join(daemonFile(dataDir), 'full'), { recursive: true })
  const errors: unknown[] = []
  const file = new DaemonFile(loaded, { url: 'http://127.0.0.1:1', port: 1 }, (error) => errors.push(error))
  onTestFinished(() => file.close())
  for (let count = 0; count < 3; count++) vi.advanceTimersByTime(staleAfter)
  expect(errors).toHaveLength(1)
  await rm(dataDir, { recursive: true })
  vi.advanceTimersByTime(staleAfter)
  expect(existsSync(dataDir), 'a state directory that was removed is not created').toBe(false)
  await mkdir(dataDir)
  vi.advanceTimersByTime(staleAfter)
  expect(findDaemon(dataDir)).toMatchObject({ url: 'http://127.0.0.1:1' })
})
