import { appendFileSync } from 'node:fs'
import { realTiming } from '../../src/lib/timing.ts'
import { consume } from '../../src/queue/consume.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import { openRecords } from '../helpers/records.ts'
import { queueDue } from '../../src/schedule/scheduled-tasks.ts'
import { nightly } from '../../src/schedule/task.ts'
import { taskHandler } from '../../src/schedule/task-handler.ts'

/** A process with a scheduler and a worker. It checks without a pause and records each run of the task; the task `slow` runs until it is stopped. */
const [directory = '', log = '', name = ''] = process.argv.slice(2)
const records = await openRecords({ directory, now: Date.now })
const note = (...words: unknown[]) => appendFileSync(log, `${words.map(String).join(' ')}\n`)
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
const task = nightly({
  name: 'test.task',
  run: async (run) => {
    note('run', name)
    if (name === 'slow') await realTiming.sleep(600_000, run.stop)
    return { done: !run.stop.aborted, result: name }
  },
})

async function schedule(): Promise<void> {
  while (!stop.signal.aborted) {
    await queueDue(records, [task], Date.now())
    await realTiming.sleep(1, stop.signal)
  }
}

note('ready', name)
await Promise.all([
  schedule(),
  consume({
    queue: openQueue(records, Date.now),
    kind: 'consumer',
    transports: ['scheduler'],
    handlers: [taskHandler(records, task, Date.now)],
    stop: stop.signal,
    timing: realTiming,
    random: Math.random,
    memory: () => 0,
    onEvent: () => {},
  }),
])
await records.close()
