import type { Timing } from '../lib/timing.ts'
import { isUnavailable } from '../records/errors.ts'
import type { Records } from '../records/open.ts'
import { queueDue } from './scheduled-tasks.ts'
import type { Task } from './task.ts'

/** How often the scheduler checks for due tasks (milliseconds). */
const checkInterval = 15_000

/** Queues due tasks until `stop` is aborted. It waits while the records are unavailable. `now` is the wall clock in milliseconds since the epoch. */
export async function runScheduler(options: {
  records: Records
  tasks: readonly Task[]
  now: () => number
  timing: Timing
  stop: AbortSignal
}): Promise<void> {
  const { records, tasks, now, timing, stop } = options
  while (!stop.aborted) {
    try {
      await queueDue(records, tasks, now())
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
    await timing.sleep(checkInterval, stop)
  }
}
