import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { Housekeeper } from '../../src/pages/housekeeper.ts'
import { Room } from '../../src/pages/room.ts'
import { openDeadPages } from '../helpers/dead-pages.ts'
import { aMoment } from '../stores/pages.ts'

let pauses: number[] = []

/** Records the lengths of pauses, which end at once. */
beforeEach(() => {
  pauses = []
  const pause = timers.setTimeout
  const spy = vi.spyOn(timers, 'setTimeout').mockImplementation((ms, ...rest) => {
    pauses.push(ms!)
    return pause(0, ...rest)
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    spy.mockRestore()
    syncBuiltinESMExports()
  })
})

/** A housekeeper of six dead pages on a slow disk: three slices of two files each. */
async function openSlow() {
  const { directory, shared, bodies, pass } = await openDeadPages(6)
  const now = () => aMoment
  const room = new Room({ shared, bodies, directory, now, onWarning: () => {} })
  const housekeeper = new Housekeeper({ shared, bodies, room, directory, maxSize: Infinity, now })
  onTestFinished(() => housekeeper.stop())
  const isDone = () => shared.read(false, (index) => index.choices.dead(1).length === 0)
  return { housekeeper, isDone, room, pass }
}

it('pauses for as long as each slice takes', async () => {
  const { housekeeper, isDone } = await openSlow()
  housekeeper.wake(0)
  await vi.waitUntil(isDone)
  expect(pauses.slice(0, 2)).toEqual([6, 6])
})

it('pauses twenty times as long while purges release pages', async () => {
  const { housekeeper, isDone } = await openSlow()
  await housekeeper.release([])
  await vi.waitUntil(isDone)
  expect(pauses.slice(0, 2)).toEqual([120, 120])
})

it('does not wait for purges that were half a second ago, or where space is short', async () => {
  const past = await openSlow()
  await past.housekeeper.release([])
  past.pass(500)
  await vi.waitUntil(past.isDone)
  expect(pauses.slice(0, 2)).toEqual([6, 6])

  pauses = []
  const short = await openSlow()
  vi.spyOn(short.room, 'isShort', 'get').mockReturnValue(true)
  vi.spyOn(short.room, 'look').mockResolvedValue(false)
  await short.housekeeper.release([])
  await vi.waitUntil(short.isDone)
  expect(pauses.slice(0, 2)).toEqual([6, 6])
})
