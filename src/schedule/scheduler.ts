import type { Timing } from '../lib/timing.ts'
import { isUnavailable } from '../records/faults.ts'
import type { Records } from '../records/open.ts'
import { queueDue } from './scheduled-tasks.ts'
import type { Task } from './task.ts'

/** How often it is looked for tasks that are due (milliseconds). */
const lookEvery = 15_000

/** Queues tasks when they are due, until it is told to stop. Locked and full records are waited for. `now` is the wall clock, milliseconds since the epoch. */
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
    await timing.sleep(lookEvery, stop)
  }
}
