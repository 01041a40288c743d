import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { BodyFiles } from '../../src/pages/body-files.ts'
import { Housekeeper } from '../../src/pages/housekeeper.ts'
import { placesIn } from '../../src/pages/places.ts'
import { Room } from '../../src/pages/room.ts'
import { SharedIndex } from '../../src/pages/shared-index.ts'
import { accepted, aMoment, bodyOf, draft, openPages } from '../stores/pages.ts'

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

/** A housekeeper of six dead pages whose disk takes 3 ms per file: three slices of two files each. */
async function openSlow() {
  const { pages, directory } = await openPages()
  const fence = pages.fence()
  for (let n = 0; n < 6; n += 1) accepted(await pages.put(draft(`page ${n}`), bodyOf('a body'), fence))
  const ids = (await pages.list({ offset: 0, limit: 6 })).items.map(({ id }) => id)
  await pages.close()
  const places = placesIn(directory)
  const shared = new SharedIndex({ places, onWarning: () => {}, patience: 50, known: null })
  onTestFinished(() => shared.close())
  await shared.write((index) => index.write(() => index.writes.kill(ids)))
  let time = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => time)
  onTestFinished(() => clock.mockRestore())
  class SlowDisk extends BodyFiles {
    override removeNow(file: string): void {
      super.removeNow(file)
      time += 3
    }
  }
  const bodies = new SlowDisk(places)
  const now = () => aMoment
  const room = new Room({ shared, bodies, directory, now, onWarning: () => {} })
  const housekeeper = new Housekeeper({ shared, bodies, room, directory, maxSize: Infinity, now })
  onTestFinished(() => housekeeper.stop())
  const isDone = () => shared.read(false, (index) => index.choices.dead(1).length === 0)
  return { housekeeper, isDone, room, pass: (ms: number) => (time += ms) }
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
