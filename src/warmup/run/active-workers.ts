import { hostname } from 'node:os'
import type { Queue, WorkerStatistics } from '../../queue/queue.ts'
import { batchType } from './messages.ts'

/** Workers report every five seconds; one that has been silent for longer than this counts as dead (milliseconds). */
const silentFor = 12_000

/** Whether any process is taking warmup batches from the queue. */
export async function hasWorkers(queue: Queue): Promise<boolean> {
  return (await activeWorkers(queue)).length > 0
}

/** Whether a process other than this one is taking warmup batches from the queue. */
export async function hasOtherWorkers(queue: Queue): Promise<boolean> {
  const workers = await activeWorkers(queue)
  return workers.some(({ host, pid }) => host !== hostname() || pid !== process.pid)
}

async function activeWorkers(queue: Queue): Promise<WorkerStatistics[]> {
  const { workers } = await queue.statistics()
  const now = Date.now()
  return workers.filter(
    ({ types, stopping, seenAt, host, pid }) =>
      types.includes(batchType) && !stopping && now - seenAt <= silentFor && (host !== hostname() || isAlive(pid)),
  )
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // The process exists but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
