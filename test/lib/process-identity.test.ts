import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished, vi } from 'vitest'
import { hasEnded, startIn, thisProcess } from '../../src/lib/process-identity.ts'

it('this process has not ended', () => {
  expect(hasEnded(thisProcess(), thisProcess())).toBe(false)
})

it('a process has ended when it is gone or its id is reused', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(child, 'spawn')
  const self = thisProcess()
  const other = { ...self, pid: child.pid! }
  // The id of a living process with another start time: as if the id had been reused.
  expect(hasEnded(other, self)).toBe(true)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(hasEnded({ ...other, started: '1' }, self)).toBe(true)
})

it('the end of a process is unknown after another boot, in another container or without /proc', () => {
  const self = thisProcess()
  const gone = { ...self, started: '1' }
  expect(hasEnded(gone, self)).toBe(true)
  expect(hasEnded({ ...gone, bootId: 'another' }, self)).toBe(false)
  expect(hasEnded({ ...gone, pidNamespace: 'pid:[1]' }, self)).toBe(false)
  expect(hasEnded({ ...gone, started: null }, self)).toBe(false)
  expect(hasEnded({ ...gone, bootId: null }, { ...self, bootId: null })).toBe(false)
})

it('a process of another user that /proc hides has not ended', () => {
  const self = thisProcess()
  const hidden = { ...self, pid: 2 ** 22 + 1, started: '1' }
  expect(hasEnded(hidden, self)).toBe(true)
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('not permitted'), { code: 'EPERM' })
  })
  onTestFinished(() => kill.mockRestore())
  expect(hasEnded(hidden, self)).toBe(false)
})

it('the start time is found after any program name, and a zombie is gone', () => {
  const fields = Array.from({ length: 30 }, (_, index) => index + 4).join(' ')
  expect(startIn(`12 (a) b (c)) S ${fields}`)).toBe('22')
  expect(startIn(`12 (node) T ${fields}`)).toBe('22')
  expect(startIn(`12 (node) Z ${fields}`)).toBe('gone')
})
