import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { isUnavailable } from '../../../src/records/errors.ts'
import { execute } from '../../helpers/postgres.ts'
import { testDatabase } from '../../helpers/records.ts'
import { startRelay, type Relay } from '../../helpers/relay.ts'
import { until } from '../../helpers/until.ts'
import { openQueueAt, readCounted, startCounters } from './counters.ts'

const disturbances: ((relay: Relay) => unknown)[] = [
  (relay) => relay.set('open'),
  (relay) => relay.halfClose('client'),
  (relay) => relay.halfClose('server'),
  (relay) => relay.set({ slow: 15 }),
  (relay) => relay.set('refusing'),
]

it('loses and doubles no message while connections are cut, half closed, slowed down and refused', async () => {
  const { url } = testDatabase()!
  const { searchParams, pathname } = new URL(url)
  const relay = await startRelay(`${searchParams.get('host')}/.s.PGSQL.5432`)
  onTestFinished(() => relay.stop())
  await execute(url, 'create table if not exists counted (payload bigint)')
  onTestFinished(() => execute(url, 'drop table counted').then(() => {}))
  const open = () => openQueueAt(`postgres://pagecache@127.0.0.1:${relay.port}${pathname}`, 3)
  const stop = new AbortController()
  const consumers = await startCounters(open, stop.signal)
  const { queue } = await open()
  const [acknowledged, doubtful]: number[][] = [[], []]
  let isOver = false
  const dispatching = (async () => {
    for (let payload = 0; !isOver; payload += 1) {
      const group = payload % 3 === 0 ? { group: `g${payload % 2}` } : {}
      await queue.dispatch([{ transport: 'async', type: 'count', payload, ...group }]).then(
        () => acknowledged!.push(payload),
        (error: unknown) => {
          expect(isUnavailable(error)).toBe(true)
          doubtful!.push(payload)
        },
      )
    }
  })()
  for (let round = 0; round < 20; round += 1) {
    await disturbances[round % disturbances.length]!(relay)
    await sleep(40 + Math.random() * 80)
    if (round % disturbances.length === 4) {
      await relay.set('open')
      const before = acknowledged!.length
      await until(() => acknowledged!.length > before)
    }
  }
  isOver = true
  await dispatching
  await until(async () => (await execute(url, 'select 1 from queue_messages limit 1')).rows.length === 0)
  stop.abort()
  await Promise.all(consumers)
  const counted = await readCounted(url)
  expect(new Set(counted).size).toBe(counted.length)
  expect(acknowledged!.filter((payload) => !counted.includes(payload))).toEqual([])
  expect(counted.filter((payload) => !acknowledged!.includes(payload) && !doubtful!.includes(payload))).toEqual([])
})
