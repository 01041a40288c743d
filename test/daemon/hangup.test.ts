import { expect, it, onTestFinished } from 'vitest'
import { Hangup } from '../../src/daemon/hangup.ts'

function open(terminal = false) {
  const hangup = new Hangup(terminal)
  onTestFinished(() => hangup.release())
  return hangup
}

it('a reload that was asked for while the daemon started is made up for, once', () => {
  const hangup = open()
  process.emit('SIGHUP')
  process.emit('SIGHUP')
  let reloads = 0
  hangup.follow(async () => void reloads++)
  expect(reloads).toBe(1)
  process.emit('SIGHUP')
  expect(reloads).toBe(2)
})

it('nothing is left of it, and on a terminal nothing is begun', () => {
  const before = process.listenerCount('SIGHUP')
  const hangup = open()
  expect(process.listenerCount('SIGHUP')).toBe(before + 1)
  hangup.release()
  open(true)
  expect(process.listenerCount('SIGHUP')).toBe(before)
})
