/**
 * Claim: two consumers process at least 2,000 messages per second, and a message dispatched into an idle queue starts at once.
 *
 *   npx node bench/queue.ts [--postgres] [--messages 4000] [--singles 300] [--deep 100000] [--rounds 1] [--only "two consumers;one consumer"] [--json]
 *
 * Consumers are separate processes; a handler records its start and returns. `messages` are dispatched at once and processed by one and
 * by two consumers, in no group, in one group and in fifty, and by handlers that write a row in the commit that ends their message. Then
 * `singles` are dispatched one at a time into the empty queue. Finally, two consumers work while `deep` messages of a group held by another
 * worker wait before theirs. The rival takes and deletes the same rows in one process, in two synced commits per message. The queue's own
 * commits are not synced (docs/decisions/0139-unsynced-claims.md), except those with a handler's row. Latency runs from before the
 * dispatch to the first line of the handler, on the machine's monotonic clock. With several rounds, rates are medians, with their range.
 *
 * `--postgres`: the same on a PostgreSQL server that the benchmark starts, with synchronous commits. There the target is 800 messages per
 * second with two consumers.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'
import { openQueue } from '../src/queue/records-queue.ts'
import type { NewMessage, Queue } from '../src/queue/queue.ts'
import { openRecords } from '../src/records/open.ts'
import { durable, newDatabase, startPostgres } from '../test/helpers/postgres.ts'
import { toPlace } from '../test/helpers/records.ts'
import type { Handled } from './lib/queue-worker.ts'
import { median, percentile } from './lib/statistics.ts'

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '4000' },
    singles: { type: 'string', default: '300' },
    deep: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '1' },
    postgres: { type: 'boolean', default: false },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const count = Number(values.messages)

interface Bench {
  queue: Queue
  directory: string
  /** URL of the database; null: SQLite. */
  url: string | null
  handled: Handled[]
  /** Creates the table that handlers of the type `effect` write to. */
  addEffects(): Promise<unknown>
}

const server = values.postgres ? await startPostgres({ ...durable, autovacuum: 'on' }) : null
if (values.postgres && server === null) throw new Error('PostgreSQL is not installed')

const works: Record<string, (bench: Bench) => Promise<number>> = {
  'bare commits, two per message': bare,
  'one consumer': (bench) => rate(bench, 1, () => ({})),
  'two consumers': (bench) => rate(bench, 2, () => ({})),
  'two consumers, fifty groups': (bench) => rate(bench, 2, (index) => ({ group: `g${index % 50}` })),
  'two consumers, one group': (bench) => rate(bench, 2, () => ({ group: 'g' })),
  'two consumers, a row written in the commit of each message': async (bench) => {
    await bench.addEffects()
    return rate(bench, 2, () => ({ type: 'effect' }))
  },
  [`two consumers, ${Number(values.deep).toLocaleString('en')} messages waiting`]: async (bench) => {
    await bench.queue.dispatch(messages(Number(values.deep), () => ({ group: 'deep' })))
    const holder = await bench.queue.join({ kind: 'consumer', transports: ['async'], types: ['bench'] })
    await holder.claim(new Map([['bench', 1]]), 1)
    return rate(bench, 2, () => ({}), holder.beat.bind(holder))
  },
}
const rates: Record<string, number[]> = {}
for (let round = 0; round < Number(values.rounds); round += 1)
  for (const [name, work] of Object.entries(works))
    if (values.only === undefined || values.only.split(';').includes(name))
      (rates[name] ??= []).push(await inQueue(work))
const latency = values.only === undefined ? await inQueue(singles) : null
await server?.stop()
if (values.json) console.log(JSON.stringify({ rates, latency }))
else print()

async function inQueue<T>(work: (bench: Bench) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'pagecache-bench-'))
  const url = server === null ? null : await newDatabase(server)
  const records = await openRecords({ directory, postgres: toPlace(url), now: Date.now })
  try {
    const addEffects = () => sql`create table effects (payload text)`.execute(records.db)
    return await work({ queue: openQueue(records, Date.now), directory, url, handled: [], addEffects })
  } finally {
    await records.close()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Takes and deletes the same rows without the queue. */
async function bare({ queue, directory, url }: Bench): Promise<number> {
  await queue.dispatch(messages(count, () => ({})))
  if (url !== null) return bareOnPostgres(url)
  const database = new Database(join(directory, 'records.sqlite'))
  database.pragma('synchronous = FULL')
  const ids = database.prepare<[], string>('SELECT id FROM queue_messages ORDER BY id').pluck().all()
  const take = database.prepare("UPDATE queue_messages SET lease = 'bench' WHERE id = ?")
  const remove = database.prepare('DELETE FROM queue_messages WHERE id = ?')
  const started = performance.now()
  for (const id of ids) {
    take.run(id)
    remove.run(id)
  }
  const seconds = (performance.now() - started) / 1000
  database.close()
  return count / seconds
}

async function bareOnPostgres(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ id: string }>('select id from queue_messages order by id')
  const started = performance.now()
  for (const { id } of rows) {
    await client.query({ name: 'take', text: "update queue_messages set lease = 'bench' where id = $1", values: [id] })
    await client.query({ name: 'remove', text: 'delete from queue_messages where id = $1', values: [id] })
  }
  const seconds = (performance.now() - started) / 1000
  await client.end()
  return count / seconds
}

function* messages(total: number, more: (index: number) => Partial<NewMessage>): Generator<NewMessage> {
  for (let index = 0; index < total; index++)
    yield { transport: 'async', type: 'bench', payload: index, ...more(index) }
}

/** Messages per second, from the dispatch of all messages to the last handler. */
async function rate(
  bench: Bench,
  consumers: number,
  more: (index: number) => Partial<NewMessage>,
  beat?: () => Promise<boolean>,
): Promise<number> {
  const workers = await startWorkers(bench, consumers)
  const beating = setInterval(() => void beat?.(), 5000)
  const started = performance.now()
  await bench.queue.dispatch(messages(count, more))
  while (bench.handled.length < count) await sleep(5)
  const seconds = (performance.now() - started) / 1000
  clearInterval(beating)
  await stopWorkers(workers)
  return count / seconds
}

async function singles(bench: Bench): Promise<{ median: number; p99: number }> {
  const workers = await startWorkers(bench, 2)
  const latencies: number[] = []
  for (let index = 0; index < Number(values.singles); index++) {
    const dispatched = process.hrtime.bigint()
    await bench.queue.dispatch([{ transport: 'async', type: 'bench', payload: index }])
    while (bench.handled.length <= index) await sleep(1)
    latencies.push(Number(BigInt(bench.handled[index]!.at) - dispatched) / 1e6)
    // Random delay, so that dispatches are not synchronised with the consumers' polling.
    await sleep(Math.random() * 30)
  }
  await stopWorkers(workers)
  return { median: median(latencies), p99: percentile(latencies, 99) }
}

async function startWorkers({ directory, url, handled }: Bench, consumers: number): Promise<ChildProcess[]> {
  return Promise.all(
    Array.from({ length: consumers }, async () => {
      const child = fork(new URL('lib/queue-worker.ts', import.meta.url), [directory, ...(url === null ? [] : [url])])
      await once(child, 'message')
      child.on('message', (message) => void handled.push(message as Handled))
      return child
    }),
  )
}

async function stopWorkers(workers: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    workers.map(async (worker) => {
      worker.kill('SIGTERM')
      await once(worker, 'exit')
    }),
  )
}

function print(): void {
  const rounded = (rate: number) => Math.round(rate).toLocaleString('en')
  console.log('| | messages per second | range |\n|---|---|---|')
  for (const [name, own] of Object.entries(rates))
    console.log(`| ${name} | ${rounded(median(own))} | ${rounded(Math.min(...own))} to ${rounded(Math.max(...own))} |`)
  const [bareRates, ours] = [rates['bare commits, two per message'], rates['two consumers']]
  if (bareRates !== undefined && ours !== undefined)
    console.log(`\ntwo consumers ÷ bare commits: ${(median(ours) / median(bareRates)).toFixed(2)}`)
  if (latency === null) return
  console.log('\n| dispatch to start, idle queue | ms |\n|---|---|')
  console.log(`| median | ${latency.median.toFixed(1)} |\n| 99th percentile | ${latency.p99.toFixed(1)} |`)
}
