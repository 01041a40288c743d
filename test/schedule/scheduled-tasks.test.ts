import { describe, expect, it } from 'vitest'
import { PagecacheError } from '../../src/errors.ts'
import { deactivateTask, queueDue, readTask, readTasks, scheduleTask } from '../../src/schedule/scheduled-tasks.ts'
import { runScheduler } from '../../src/schedule/scheduler.ts'
import { nextNight, nightly, type Task, type TaskRun } from '../../src/schedule/task.ts'
import { taskHandler } from '../../src/schedule/task-handler.ts'
import { claimOne } from '../queue/consuming.ts'
import { testQueue } from '../queue/open-queue.ts'

const hour = 3_600_000
const day = 24 * hour
const name = 'vendor_cache.cleanup_pages'

/** Opens a queue with a scheduler and one nightly task that records its runs. */
async function setUp(more: Partial<Task> = {}) {
  const tested = await testQueue()
  const { records, timing, now } = tested
  const runs: number[] = []
  const task: Task = {
    ...nightly({
      name,
      run: async () => {
        runs.push(now())
        return { done: true, result: `run ${runs.length}` }
      },
    }),
    ...more,
  }
  const tasks = [task]
  return {
    ...tested,
    task,
    tasks,
    runs,
    row: () => readTask(records.db, name),
    tick: () => queueDue(records, tasks, now()),
    /** Runs a scheduler and a worker for a time (milliseconds). */
    async live(milliseconds: number) {
      const stop = new AbortController()
      void timing.sleep(milliseconds, stop.signal).then(() => stop.abort())
      const worker = tested.consume({
        transports: ['scheduler'],
        handlers: tasks.map((one) => taskHandler(records, one, now)),
        sleep: 5000,
        stop: stop.signal,
      })
      await timing.until(Promise.all([worker, runScheduler({ records, tasks, now, timing, stop: stop.signal })]))
    },
  }
}

describe('a nightly task', () => {
  it('is registered for the next night and runs once each night', async () => {
    const { records, tasks, live, runs, now, row, jump } = await setUp()
    const [registered] = await readTasks(records, tasks, now())
    const first = nextNight(now())
    expect(registered).toMatchObject({
      name,
      status: 'scheduled',
      last_execution_at: null,
      next_execution_at: first,
      run_interval: day,
    })
    jump(first - now() - 40_000)
    await live(35_000)
    expect(runs).toEqual([])
    await live(120_000)
    expect(runs).toHaveLength(1)
    // The scheduler checks every fifteen seconds, this worker every five.
    expect(runs[0]! - first).toBeGreaterThanOrEqual(0)
    expect(runs[0]! - first).toBeLessThanOrEqual(21_000)
    expect(await row()).toMatchObject({
      status: 'scheduled',
      last_execution_at: runs[0],
      next_execution_at: first + day,
      result: 'run 1',
      error: null,
    })
  })

  it('that was missed for three nights runs once, then in the next night', async () => {
    const { live, runs, jump, tick, row, now } = await setUp()
    await tick()
    jump(3 * day + 5 * hour)
    await live(60_000)
    expect(runs).toHaveLength(1)
    expect((await row()).next_execution_at).toBe(nextNight(now()))
  })

  it('is queued once, however many schedulers there are', async () => {
    const { records, tasks, jump, again, now, queue, tick } = await setUp()
    await tick()
    await again()
    jump(day)
    const queued = await Promise.all(Array.from({ length: 5 }, () => queueDue(records, tasks, now())))
    expect(queued.toSorted()).toEqual([0, 0, 0, 0, 1])
    expect((await queue.statistics()).transports[1]).toMatchObject({ name: 'scheduler', count: 1 })
  })

  it('waits for a worker without a limit and is not queued twice', async () => {
    const { tick, jump, queue, row } = await setUp()
    await tick()
    jump(day)
    expect(await tick()).toBe(1)
    jump(2 * day)
    expect(await tick()).toBe(0)
    expect(await row()).toMatchObject({ status: 'queued' })
    expect((await queue.statistics()).transports[1]).toMatchObject({ count: 1 })
  })

  it.each(['queued', 'running'] as const)(
    'that says it is %s while the queue knows nothing of it is queued again',
    async (status) => {
      const { records, tick, live, runs, row } = await setUp()
      await tick()
      await records.db.updateTable('scheduled_tasks').set({ status }).execute()
      expect(await tick()).toBe(1)
      expect(await row()).toMatchObject({ status: 'queued' })
      await live(30_000)
      expect([runs.length, (await row()).status]).toEqual([1, 'scheduled'])
    },
  )

  it('does not run twice when a clock is set forward and back', async () => {
    const { tick, live, jump, runs, row, now } = await setUp()
    await tick()
    jump(day)
    await live(60_000)
    expect(runs).toHaveLength(1)
    jump(-day)
    await live(60_000)
    expect(runs).toHaveLength(1)
    // Now two nights away: it is corrected to the next night.
    expect((await row()).next_execution_at).toBe(nextNight(now()))
  })
})

describe('a task that fails', () => {
  it('is tried three times within the night, saves its error, and runs again in the next night', async () => {
    const calls: number[] = []
    const failing = await setUp()
    const { task, live, row, now, tick, queue } = failing
    task.run = async () => {
      calls.push(now())
      throw new Error(`disk on fire ${calls.length}`)
    }
    await tick()
    const night = nextNight(now())
    failing.jump(night - now())
    await live(10 * 60_000)
    expect(calls).toHaveLength(3)
    expect(await row()).toMatchObject({ status: 'failed', error: 'disk on fire 3', next_execution_at: night + day })
    expect((await queue.statistics()).failed).toBe(1)
    task.run = async () => ({ done: true, result: 'better' })
    failing.jump(day)
    await live(60_000)
    expect(await row()).toMatchObject({ status: 'scheduled', error: null, result: 'better' })
  })

  it('by killing its workers fails and is not queued again endlessly', async () => {
    const { tick, jump, queue, row } = await setUp()
    await tick()
    jump(day)
    await tick()
    // Three workers die while running it.
    const watcher = await queue.join({ kind: 'consumer', transports: ['scheduler'], types: [] })
    for (let crash = 0; crash < 3; crash++) {
      const worker = await queue.join({ kind: 'consumer', transports: ['scheduler'], types: [name] })
      expect(await claimOne(worker, name)).not.toBeNull()
      await watcher.takeOver({ id: worker.id, beat: 0 })
    }
    expect(await tick()).toBe(0)
    expect(await row()).toMatchObject({ status: 'failed', error: '3 workers died while handling this message' })
    jump(day)
    expect(await tick()).toBe(1)
  })
})

describe('a task', () => {
  it('with nothing to do is skipped until its next time', async () => {
    const { live, runs, jump, tick, row, now } = await setUp({ shouldRun: async () => false })
    await tick()
    jump(day)
    await live(30_000)
    expect(runs).toEqual([])
    expect(await row()).toMatchObject({ status: 'skipped', next_execution_at: nextNight(now()) })
  })

  it('that is stopped is queued and continues with the next worker', async () => {
    const { task, live, jump, tick, row } = await setUp()
    const calls: boolean[] = []
    task.run = async ({ stop }: TaskRun) => {
      if (calls.length === 0)
        await new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }))
      calls.push(stop.aborted)
      return { done: !stop.aborted, result: 'half or whole' }
    }
    await tick()
    jump(day)
    await live(30_000)
    expect(await row()).toMatchObject({ status: 'queued' })
    await live(30_000)
    expect(calls).toEqual([true, false])
    expect(await row()).toMatchObject({ status: 'scheduled', result: 'half or whole' })
  })

  it('that is inactive does not run, and its message is dropped', async () => {
    const { records, task, live, jump, tick, runs, row, now, queue } = await setUp()
    await tick()
    jump(day)
    await tick()
    await expect(deactivateTask(records, task, { now: now(), force: false })).rejects.toThrow(PagecacheError)
    await deactivateTask(records, task, { now: now(), force: true })
    jump(3 * day)
    await live(30_000)
    expect([runs, (await row()).status]).toEqual([[], 'inactive'])
    expect((await queue.statistics()).transports[1]).toMatchObject({ count: 0 })
    await scheduleTask(records, task, { now: now(), immediately: false, force: false })
    expect(await row()).toMatchObject({ status: 'scheduled', next_execution_at: nextNight(now()) })
    await scheduleTask(records, task, { now: now(), immediately: true, force: false })
    await live(30_000)
    expect(runs).toHaveLength(1)
  })

  it('deactivated while running stays inactive', async () => {
    const { records, task, live, jump, tick, row, now } = await setUp()
    task.run = async () => {
      await deactivateTask(records, task, { now: now(), force: true })
      return { done: true, result: 'to its end' }
    }
    await tick()
    jump(day)
    await live(30_000)
    expect(await row()).toMatchObject({ status: 'inactive', result: 'to its end' })
  })
})
