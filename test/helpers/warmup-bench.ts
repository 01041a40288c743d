import { randomUUID } from 'node:crypto'
import { realTiming } from '../../src/lib/timing.ts'
import { consume } from '../../src/queue/consume.ts'
import type { ConsumeEvent } from '../../src/queue/consume-event.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import type { Records } from '../../src/records/open.ts'
import { openRecords } from './records.ts'
import { warmupHandler, type WarmupWorkerOptions } from '../../src/warmup/run/handler.ts'
import type { WarmupProgress } from '../../src/warmup/run/progress.ts'
import { createRun, readProgress, type NewRun } from '../../src/warmup/run/runs.ts'
import type { WarmResult } from '../../src/warmup/run/warm-result.ts'
import { until } from './until.ts'

export const rules = { concurrency: 4, requestsPerSecond: null, crawlDelay: null, retries: 0, maxWait: 60_000 }
/** Result of a discovery without errors. */
export const noErrors = {
  foreign: 0,
  malformed: 0,
  excluded: 0,
  disallowed: 0,
  duplicates: 0,
  files: 1,
  errors: [],
  otherTypes: 0,
  unknownType: 0,
  otherTags: 0,
  crawlDelays: {},
}

export const urls = (count: number, host = 'a.example') =>
  Array.from({ length: count }, (_, i) => `http://${host}/${i}`)
export const originOf = () => 'http://origin-a'
export const stored: WarmResult = { kind: 'stored', status: 200, ms: 1 }
/** Blocks fetches until the test opens it. */
export function gate() {
  const opened = Promise.withResolvers<void>()
  return { open: () => opened.resolve(), passed: opened.promise }
}

export interface TestWorker {
  events: ConsumeEvent[]
  /** Finishes its current messages and leaves. */
  stop(): Promise<void>
}

/** Records, a queue, and warmup workers in this process. The test decides the result of each fetch. */
export class WarmupBench {
  readonly records: Records
  readonly queue: Queue
  readonly #workers = new Set<TestWorker>()

  private constructor(records: Records) {
    this.records = records
    this.queue = openQueue(records, Date.now)
  }

  static async open(directory: string): Promise<WarmupBench> {
    return new WarmupBench(await openRecords({ directory, now: Date.now }))
  }

  async newRun(
    lists: readonly { channelId?: string; origin?: string; urls: readonly string[] }[],
    options: Partial<NewRun> = {},
  ): Promise<WarmupProgress> {
    const total = lists.reduce((sum, list) => sum + list.urls.length, 0)
    const filled = lists.map(({ channelId = 'a', origin = 'http://origin-a', urls }) => ({ channelId, origin, urls }))
    return createRun(this.records, {
      salesChannelId: null,
      batchSize: 10,
      force: false,
      failure: null,
      discovery: { ...noErrors, total },
      lists: filled,
      ...options,
    })
  }

  /** Starts to process the queue, with a shop that has room for every request. */
  startWorker(fetchPage: WarmupWorkerOptions['fetchPage'], options: Partial<WarmupWorkerOptions> = {}): TestWorker {
    const stop = new AbortController()
    const events: ConsumeEvent[] = []
    const handler = warmupHandler({
      records: this.records,
      rulesFor: () => rules,
      fetchPage: async (url, options) => (options.mayStart() ? fetchPage(url, options) : null),
      passes: [{}],
      timing: realTiming,
      random: Math.random,
      vitals: () => ({ memory: { rss: 1, heapUsed: 1 }, eventLoopDelay: { mean: 0, max: 0 } }),
      worker: randomUUID(),
      ...options,
    })
    const consumed = consume({
      queue: this.queue,
      kind: 'consumer',
      transports: ['async'],
      handlers: [handler],
      stop: stop.signal,
      timing: realTiming,
      random: Math.random,
      memory: () => 0,
      onEvent: (event) => void events.push(event),
    })
    const worker: TestWorker = {
      events,
      stop: async () => {
        stop.abort()
        await consumed
        this.#workers.delete(worker)
      },
    }
    this.#workers.add(worker)
    return worker
  }

  async progress(id?: string): Promise<WarmupProgress> {
    const progress = await readProgress(this.records, id)
    if (progress === null) throw new Error('there is no such run')
    return progress
  }

  /** Waits until a run satisfies a condition. Fails with the run's progress. */
  async until(id: string, is: (progress: WarmupProgress) => boolean | Promise<boolean>): Promise<WarmupProgress> {
    return await until(async () => {
      const progress = await this.progress(id)
      if (await is(progress)) return progress
      throw new Error(`The run is not there yet: ${JSON.stringify(progress)}`)
    })
  }

  ended(id: string): Promise<WarmupProgress> {
    return this.until(id, ({ status }) => status !== 'running')
  }

  /** Number of messages on the queue, including those being processed. */
  async messages(): Promise<number> {
    return (await this.queue.statistics()).transports.find(({ name }) => name === 'async')!.count
  }

  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop()))
    await this.records.close()
  }
}
