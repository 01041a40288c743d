import { appendFileSync } from 'node:fs'
import { realTiming } from '../../src/lib/timing.ts'
import { consume } from '../../src/queue/consume.ts'
import type { Handler } from '../../src/queue/queue.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import { openRecords } from '../helpers/records.ts'

/**
 * A consumer in a child process. Every call of a handler logs a line: `start` or `end`, worker, type, payload. Types: `quick` returns at
 * once, `group` after a few turns, `stuck` only when it is stopped, `endless` never, `fatal` kills the process, `fenced` waits for the
 * file `go` next to the log and then writes behind the fence.
 */
const [directory = '', log = '', name = '', ...transports] = process.argv.slice(2)
const records = await openRecords({ directory, now: Date.now })
const queue = openQueue(records, Date.now)
const stop = new AbortController()
let signals = 0
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (++signals === 2) process.exit(130)
    stop.abort()
  })
}

const note = (...words: unknown[]) => appendFileSync(log, `${words.map(String).join(' ')}\n`)
const never = new Promise<void>(() => {})

function handler(type: string, handle: Handler['handle'], options: Partial<Handler> = {}): Handler {
  return {
    type,
    ...options,
    async handle(work) {
      note('start', name, type, work.message.payload)
      await handle(work)
      note('end', name, type, work.message.payload)
    },
  }
}

const handlers: Handler[] = [
  handler('quick', async () => {}),
  handler('group', (work) => realTiming.sleep(5, work.lost), { concurrency: 4 }),
  handler(
    'stuck',
    (work) => new Promise<void>((resolve) => work.stop.addEventListener('abort', () => resolve(), { once: true })),
  ),
  handler('endless', () => never),
  handler('fatal', async () => void process.kill(process.pid, 'SIGKILL')),
  handler('fenced', async (work) => {
    await new Promise<void>((resolve) => work.lost.addEventListener('abort', () => resolve(), { once: true }))
    await records.db
      .transaction()
      .execute((transaction) => work.hold(transaction, work.message))
      .then(
        () => note('written', name),
        (error: unknown) => note('refused', name, (error as { code?: string }).code),
      )
  }),
]

// This timer keeps the process alive: an endless handler has no pending I/O.
const keep = setInterval(() => {}, 60_000)
note('ready', name)
const consumed = await consume({
  queue,
  kind: 'consumer',
  transports: (transports.length > 0 ? transports : ['async']) as 'async'[],
  handlers,
  stop: stop.signal,
  timing: realTiming,
  random: Math.random,
  memory: () => 0,
  onEvent: (event) => note('event', name, event.kind, 'error' in event ? event.error : ''),
})
clearInterval(keep)
await records.close()
note('left', name, consumed.end)
