import { expect, it } from 'vitest'
import type { Timing } from '../../../src/lib/timing.ts'
import type { WarmupStatus } from '../../../src/records/schema.ts'
import { waitForRun } from '../../../src/warmup/run/wait.ts'

/** A clock that jumps ahead on every sleep. */
function fakeTiming(): Timing {
  let now = 0
  return { now: () => now, sleep: async (milliseconds) => void (now += milliseconds) }
}

/** Waits for a run; `onPoll` may change its state. Returns what happened, in order. */
async function wait(hasOtherWorkers: boolean, onPoll: (poll: number, stop: () => void) => WarmupStatus) {
  const events: string[] = []
  const stop = new AbortController()
  let polls = 0
  await waitForRun({
    readProgress: async () => ({ status: onPoll(++polls, () => stop.abort()) }),
    pause: async () => events.push('paused'),
    standby: {
      hasOtherWorkers: async () => hasOtherWorkers,
      async work(signal) {
        events.push('started')
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        events.push('stopped')
      },
    },
    stop: stop.signal,
    timing: fakeTiming(),
    onProgress: () => {},
  })
  return events
}

const endAt10 = (poll: number): WarmupStatus => (poll < 10 ? 'running' : 'completed')
const stopAt10 = (poll: number, stop: () => void): WarmupStatus => {
  if (poll === 10) stop()
  return 'running'
}

it('works on the run while no other worker does, once, and stops at its end', async () => {
  expect(await wait(false, endAt10)).toEqual(['started', 'stopped'])
})

it('only waits while other workers are active', async () => {
  expect(await wait(true, endAt10)).toEqual([])
})

it('pauses an interrupted run that only this process works on', async () => {
  expect(await wait(false, stopAt10)).toEqual(['started', 'stopped', 'paused'])
  expect(await wait(true, stopAt10)).toEqual([])
})
