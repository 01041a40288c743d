import { expect, it } from 'vitest'
import { Alertness } from '../../src/queue/alertness.ts'
import { openRecords } from '../../src/records/open.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

/** An alertness on a clock that stands still, with a watch that tells of what is written. */
function alertness({ canWatch = true } = {}) {
  const state = { now: 0, alerts: 0, watches: 0, tell: () => {} }
  const tested = new Alertness({
    now: () => state.now,
    onAlert: () => void (state.alerts += 1),
    watch: (listener) => {
      if (!canWatch) return null
      state.watches += 1
      state.tell = listener
      return () => void (state.watches -= 1)
    },
  })
  /** Sleeps as a worker does: as long as it is told, a number of times. */
  const sleep = (times: number) =>
    Array.from({ length: times }, () => {
      const interval = tested.interval()
      state.now += interval
      return interval
    })
  return { state, tested, sleep }
}

it('checks ever more rarely after a change, and once a second in the end', () => {
  const { state, sleep } = alertness()
  expect(sleep(9)).toEqual([20, 20, 40, 80, 160, 320, 640, 1000, 1000])
  expect(state.watches).toBe(1)
})

it('checks soon after it was told of a write, and until the commit is visible', () => {
  const { state, sleep } = alertness()
  sleep(9)
  state.tell()
  expect(state).toMatchObject({ alerts: 1, watches: 0 })
  expect(sleep(4)).toEqual([20, 20, 40, 80])
  expect(state.watches).toBe(1)
})

it('watches nothing while the records change all the time', () => {
  const { state, tested, sleep } = alertness()
  for (let round = 0; round < 10; round++) {
    expect(sleep(1)).toEqual([20])
    expect(state.watches).toBe(0)
    tested.raise()
  }
})

it('checks every twenty milliseconds where the system cannot watch', () => {
  const { sleep } = alertness({ canWatch: false })
  expect(sleep(50)).toEqual(Array.from({ length: 50 }, () => 20))
})

it('watches nothing once it is closed', () => {
  const { state, tested, sleep } = alertness()
  sleep(3)
  tested.close()
  state.tell()
  expect(state).toMatchObject({ alerts: 0, watches: 0 })
})

it('the records tell of what another connection writes', async () => {
  const directory = await tempDir()
  const [one, other] = [
    await openRecords({ directory, now: Date.now }),
    await openRecords({ directory, now: Date.now }),
  ]
  let told = 0
  const end = one.watch(() => void (told += 1))
  expect(end).not.toBeNull()
  const write = () =>
    other.db
      .insertInto('queue_workers')
      .values(worker)
      .onConflict((row) => row.doNothing())
      .execute()
  await write()
  await until(() => told > 0)
  end!()
  for (const records of [one, other]) await records.close()
})

const worker = {
  id: 'a',
  host: 'here',
  boot_id: null,
  pid_namespace: null,
  pid: 1,
  process_started: null,
  kind: 'consumer' as const,
  transports: '[]',
  types: '[]',
  started_at: 0,
  seen_at: 0,
  beat: 0,
  stopping: 0,
}
