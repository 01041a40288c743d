/**
 * Claim: the purge log answers as fast over ten million purges as over a hundred thousand.
 *
 *   npx node bench/logs.ts [--small 100000] [--big 10000000] [--json]
 *
 * For each size, fills the records with purges of thirty days (tags of ten thousand products, a tenth of them frequent; one URL in ten;
 * one proxy), with statements that write what the program would have written. Then runs each query of the log twenty times. Prints
 * medians and ranges in milliseconds; growth is the larger log's value divided by the smaller one's.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { listInvalidations } from '../src/purge/log/invalidation-log.ts'
import { makePrunePurges } from '../src/purge/log/prune.ts'
import { listRecent, listUrls, readTimeline, readUrlFlow } from '../src/purge/log/purge-log.ts'
import { readBacklogs, readPurgeStatistics } from '../src/purge/log/statistics.ts'
import { searchPurges } from '../src/purge/log/search.ts'
import { openRecords, type Records } from '../src/records/open.ts'
import { fillLog, productId } from './lib/fill-log.ts'
import { median, withRange } from './lib/statistics.ts'

const { values } = parseArgs({
  options: {
    small: { type: 'string', default: '100000' },
    big: { type: 'string', default: '10000000' },
    json: { type: 'boolean', default: false },
  },
})

const day = 86_400_000
const rounds = 20

/** The values of all rounds. */
type Measured = Record<string, number[]>

const small = await measure(Number(values.small))
const big = await measure(Number(values.big))
if (values.json) console.log(JSON.stringify({ small, big }))
else print()

async function measure(purges: number): Promise<Measured> {
  const directory = await mkdtemp(join(tmpdir(), 'pagecache-bench-'))
  const now = Date.now()
  const records = await openRecords({ directory, now: () => now })
  try {
    const started = performance.now()
    fillLog(join(directory, 'records.sqlite'), purges, now)
    const filled = performance.now() - started
    const measured = await queries(records, purges, now)
    const { size } = await stat(join(directory, 'records.sqlite'))
    return { 'filling, s': [filled / 1_000], 'size of the records, MB': [size / 2 ** 20], ...measured }
  } finally {
    await records.close()
    await rm(directory, { recursive: true, force: true })
  }
}

async function queries({ db, ...records }: Records, purges: number, now: number): Promise<Measured> {
  const page = { limit: 50, offset: 0 }
  const product = { type: 'product' as const, id: productId(7) }
  return {
    'statistics of 24 hours': await timed(() => readPurgeStatistics(db, now)),
    'backlogs of proxies': await timed(() => readBacklogs(db, ['varnish-1'])),
    'recent purges': await timed(() => listRecent(db, page)),
    'recent purges, from the middle': await timed(() => listRecent(db, { limit: 50, offset: purges / 2 })),
    'recent purges, a thousand': await timed(() => listRecent(db, { limit: 1_000, offset: 0 })),
    'purged URLs': await timed(() => listUrls(db, page)),
    'flow of a URL': await timed(() => readUrlFlow(db, 'http://shop.example/7', page)),
    'timeline of an entity': await timed(() => readTimeline(db, product, page)),
    'recent invalidations': await timed(() => listInvalidations(db, page)),
    'search for a frequent tag': await timed(() => search(db, productId(7), Infinity)),
    'search without a match, one request': await timed(() => search(db, 'nothing', 500)),
    'longest wait of visitors meanwhile': [await longestWait(() => search(db, 'nothing', 500))],
    'deleting a slice of old purges': await timed(() =>
      makePrunePurges(['varnish-1'])({ db, ...records }, { before: now - 15 * day, limit: 1_000 }),
    ),
  }
}

function search(db: Records['db'], text: string, budget: number): Promise<unknown> {
  const signal = new AbortController().signal
  return searchPurges(db, { text, before: null, most: 50, budget, now: () => performance.now(), signal })
}

/** How long the event loop was busy without a pause, in milliseconds. */
async function longestWait(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await work()
  delay.disable()
  return delay.max / 1e6
}

/** The milliseconds of each round. */
async function timed(work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now()
    await work()
    times.push(performance.now() - started)
  }
  return times
}

function print(): void {
  const columns = (cells: readonly string[]) =>
    cells.map((cell, n) => (n === 0 ? cell.padEnd(38) : cell.padStart(32))).join('')
  console.log(columns(['median, ms', values.small, values.big, 'growth']))
  for (const [name, one] of Object.entries(small)) {
    const many = big[name]!
    console.log(columns([name, withRange(one, 2), withRange(many, 2), (median(many) / median(one)).toFixed(1)]))
  }
}
