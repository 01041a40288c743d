import { onTestFinished } from 'vitest'
import { consume, type ConsumeOptions, type Consumed } from '../../src/queue/consume.ts'
import type { ConsumeEvent } from '../../src/queue/consume-event.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import type { Queue } from '../../src/queue/queue.ts'
import type { Records } from '../../src/records/open.ts'
import { openRecords } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { VirtualTiming } from '../helpers/virtual-timing.ts'

/** The start of a test's time. */
export const start = 1_790_000_000_000

export interface TestQueue {
  directory: string
  records: Records
  queue: Queue
  timing: VirtualTiming
  /** The wall clock: `start`, plus the elapsed virtual time, plus the jumps. */
  now(): number
  /** Sets the wall clock forward or back. */
  jump(milliseconds: number): void
  events: ConsumeEvent[]
  consume(options: Partial<ConsumeOptions> & Pick<ConsumeOptions, 'handlers'>): Promise<Consumed>
  /** Opens the same queue again, as another process would. */
  again(): Promise<Queue>
}

/** Opens a queue on real records, with a clock that the test advances. */
export async function testQueue(): Promise<TestQueue> {
  const directory = await tempDir()
  const timing = new VirtualTiming()
  let jumped = 0
  const now = () => start + Math.round(timing.now()) + jumped
  const open = async () => {
    const records = await openRecords({ directory, now })
    onTestFinished(() => records.close())
    return records
  }
  const records = await open()
  const queue = openQueue(records, now)
  const events: ConsumeEvent[] = []
  return {
    directory,
    records,
    queue,
    timing,
    now,
    jump: (milliseconds) => void (jumped += milliseconds),
    events,
    consume: (options) =>
      consume({
        queue,
        kind: 'consumer',
        transports: ['async'],
        stop: new AbortController().signal,
        timing,
        random: () => 0.5,
        memory: () => 0,
        onEvent: (event) => events.push(event),
        ...options,
      }),
    again: async () => openQueue(await open(), now),
  }
}
