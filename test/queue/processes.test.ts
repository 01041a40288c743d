import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openQueue } from '../../src/queue/records-queue.ts'
import type { NewMessage } from '../../src/queue/queue.ts'
import { startChild } from '../helpers/child.ts'
import { lockRecords } from '../helpers/lock-records.ts'
import { openRecords } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

const script = join(import.meta.dirname, 'worker-child.ts')

async function open() {
  const directory = await tempDir()
  const records = await openRecords({ directory, now: Date.now })
  onTestFinished(() => records.close())
  const queue = openQueue(records, Date.now)
  const file = join(directory, 'log')
  const log = () =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
      : []
  return {
    directory,
    records,
    queue,
    log,
    /** Lines that start with the text. */
    lines: (beginning: string) => log().filter((line) => line.startsWith(beginning)),
    worker: async (name: string) => {
      const child = await startChild([process.execPath, script, directory, file, name], {
        ready: () => log().includes(`ready ${name}`),
      })
      onTestFinished(async () => {
        // A suspended process does not react to SIGTERM.
        child.kill('SIGCONT')
        child.kill('SIGKILL')
        await child.ended
      })
      return child
    },
  }
}

function messages(count: number, more: Partial<NewMessage> = {}): NewMessage[] {
  return Array.from({ length: count }, (_, payload) => ({ transport: 'async', type: 'quick', payload, ...more }))
}

describe('workers in processes of their own', () => {
  it('share the messages: each is handled by exactly one', async () => {
    const { queue, lines, worker } = await open()
    await queue.dispatch(messages(200))
    await Promise.all([worker('one'), worker('two')])
    await until(async () => (await queue.statistics()).transports[0]!.count === 0)
    const handled = lines('end').map((line) => Number(line.split(' ')[3]))
    expect(handled.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, index) => index))
    // One of them may have handled all messages before the other has started.
    await until(async () => (await queue.statistics()).workers.length === 2)
    expect(await queue.statistics()).toMatchObject({ workers: [{ kind: 'consumer' }, { kind: 'consumer' }] })
  })

  it('handle a group one message at a time, oldest first', async () => {
    const { queue, log, worker } = await open()
    await queue.dispatch(messages(60).map((message, index) => ({ ...message, type: 'group', group: `g${index % 2}` })))
    await Promise.all([worker('one'), worker('two'), worker('three')])
    await until(async () => (await queue.statistics()).transports[0]!.count === 0)
    for (const parity of [0, 1]) {
      const lines = log().filter((line) => / group \d+$/.test(line) && Number(line.split(' ')[3]) % 2 === parity)
      // Each start is followed by its own end before the next one starts.
      const expected = Array.from({ length: 30 }, (_, index) => index * 2 + parity).flatMap((payload) => [
        `start ${payload}`,
        `end ${payload}`,
      ])
      expect(
        lines.map((line) =>
          line
            .split(' ')
            .filter((_, index) => index === 0 || index === 3)
            .join(' '),
        ),
      ).toEqual(expected)
    }
  })

  it('take over the messages of a killed worker at once, and lose none', async () => {
    const { queue, lines, worker, records } = await open()
    await queue.dispatch([
      ...messages(1, { type: 'endless', group: 'g' }),
      ...messages(1, { type: 'quick', group: 'g' }),
    ])
    const first = await worker('first')
    await until(() => lines('start first endless').length === 1)
    await worker('second')
    expect(lines('start second')).toEqual([])
    first.kill('SIGKILL')
    await until(() => lines('start second endless').length === 1)
    const row = await records.db
      .selectFrom('queue_messages')
      .select(['crashes', 'attempts'])
      .where('type', '=', 'endless')
      .executeTakeFirstOrThrow()
    expect(row).toEqual({ crashes: 1, attempts: 0 })
  })

  it('fail a message that kills three workers', async () => {
    const { queue, lines, worker } = await open()
    await queue.dispatch(messages(1, { type: 'fatal' }))
    for (const name of ['one', 'two', 'three']) {
      const child = await worker(name)
      await child.ended
      expect(lines(`start ${name} fatal`)).toHaveLength(1)
    }
    await queue.dispatch(messages(1))
    const fourth = await worker('four')
    await until(() => lines('end four quick').length === 1)
    await until(async () => (await queue.statistics()).failed === 1)
    expect(lines('start four fatal')).toEqual([])
    expect((await queue.listFailed({ limit: 1, offset: 0 })).items[0]).toMatchObject({
      type: 'fatal',
      crashes: 3,
      error: '3 workers died while handling this message',
    })
    expect(await fourth.stop()).toBe(0)
  })

  it('refuse the results of one that was stopped for so long that another took over', async () => {
    const { queue, lines, worker, records } = await open()
    await queue.dispatch(messages(1, { type: 'fenced' }))
    const stopped = await worker('stopped')
    await until(() => lines('start stopped').length === 1)
    const { lease } = await records.db.selectFrom('queue_messages').select('lease').executeTakeFirstOrThrow()
    await worker('other')
    stopped.kill('SIGSTOP')
    await until(
      async () =>
        (await records.db.selectFrom('queue_messages').select('lease').executeTakeFirstOrThrow()).lease !== lease,
    )
    await until(() => lines('start other').length === 1)
    stopped.kill('SIGCONT')
    await until(() => lines('refused stopped').length === 1)
    expect(lines('refused')).toEqual(['refused stopped LEASE_LOST'])
    expect(lines('written')).toEqual([])
    // It continues as a new worker.
    await until(async () => (await queue.statistics()).workers.length === 2)
    await queue.dispatch(messages(20))
    await until(() => lines('end').length >= 20)
  })
})

describe('the end of a worker', () => {
  it('SIGTERM: it finishes the message in hand and takes no more', async () => {
    const { queue, lines, worker } = await open()
    await queue.dispatch([...messages(1, { type: 'stuck' }), { ...messages(1)[0]!, type: 'stuck', payload: 1 }])
    const child = await worker('one')
    await until(() => lines('start one stuck').length === 1)
    expect(await child.stop('SIGTERM')).toBe(0)
    expect(lines('start').concat(lines('end'))).toEqual(['start one stuck 0', 'end one stuck 0'])
    expect(lines('left')).toEqual(['left one stopped'])
    expect(await queue.statistics()).toMatchObject({ transports: [{ count: 1, held: 0 }, {}, {}], workers: [] })
  })

  it('a second signal: it exits at once, and the message waits for the next worker', async () => {
    const { queue, lines, worker } = await open()
    await queue.dispatch(messages(1, { type: 'endless' }))
    const child = await worker('one')
    await until(() => lines('start one').length === 1)
    child.kill('SIGINT')
    child.kill('SIGTERM')
    expect(await child.ended).toBe(130)
    await worker('two')
    await until(() => lines('start two endless').length === 1)
  })

  it('stop-workers: it stops running consumers, not later ones', async () => {
    const { queue, lines, worker } = await open()
    const one = await worker('one')
    await until(async () => (await queue.statistics()).workers.length === 1)
    const daemon = await queue.join({ kind: 'daemon', transports: ['async'], types: [] })
    expect(await queue.stopWorkers()).toBe(1)
    expect(await one.ended).toBe(0)
    expect(lines('left')).toEqual(['left one stop-workers'])
    await worker('two')
    await queue.dispatch(messages(1))
    await until(() => lines('end two').length === 1)
    expect((await daemon.listWorkers()).find(({ id }) => id === daemon.id)).toMatchObject({ stopping: false })
  })
})

it('locked records block no event loop, and what was done in the meantime is completed afterwards', async () => {
  const { queue, directory, lines, worker } = await open()
  await queue.dispatch(messages(1, { type: 'stuck' }))
  const child = await worker('one')
  await until(() => lines('start one stuck').length === 1)
  const unlock = await lockRecords(directory)
  child.kill('SIGTERM')
  // The handler returns while the lock is held: the child's event loop is running.
  await until(() => lines('end one stuck').length === 1)
  await until(() => lines('event one unavailable').length > 0)
  await unlock()
  expect(await child.ended).toBe(0)
  expect(lines('event one').at(-1)).toBe('event one handled ')
  expect((await queue.statistics()).transports[0]).toMatchObject({ count: 0 })
})
