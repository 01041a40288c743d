import { expect, it, onTestFinished } from 'vitest'
import { Hangup } from '../../src/daemon/hangup.ts'

function open() {
  // Helpers of other files in this process end it at this signal.
  const others = process.listeners('SIGHUP')
  process.removeAllListeners('SIGHUP')
  onTestFinished(() => void others.map((listener) => process.once('SIGHUP', listener)))
  const hangup = new Hangup(() => false)
  onTestFinished(() => hangup.release())
  return hangup
}

it('a reload requested during the start runs once afterwards', () => {
  const hangup = open()
  process.emit('SIGHUP')
  process.emit('SIGHUP')
  let reloads = 0
  hangup.onReload(async () => void reloads++)
  expect(reloads).toBe(1)
  process.emit('SIGHUP')
  expect(reloads).toBe(2)
})

it('releases its listener', () => {
  const hangup = open()
  expect(process.listenerCount('SIGHUP')).toBe(1)
  hangup.release()
  expect(process.listenerCount('SIGHUP')).toBe(0)
})
