/**
 * Claim: deleting a million old rows blocks neither the event loop nor other writers.
 *
 *   npx node bench/prune.ts [--rows 1000000] [--json]
 *
 * Fills the purge log with old purges, one delivery each, and deletes them like `vendor_cache.cleanup_reverse_proxy_log`. Meanwhile
 * another process writes to the same records every 20 ms; its waiting times are compared with those before.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { realTiming } from '../src/lib/timing.ts'
import { makePrunePurges } from '../src/purge/log/prune.ts'
import { openRecords, type Records } from '../src/records/open.ts'
import { removeInSlices } from '../src/schedule/remove-in-slices.ts'
import { median, percentile } from './lib/statistics.ts'

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, json: { type: 'boolean', default: false } },
})
const rows = Number(values.rows)
const directory = await mkdtemp(join(tmpdir(), 'pagecache-bench-'))
const records = await openRecords({ directory, now: Date.now })
try {
  await fill(records)
  const writer = fork(new URL('lib/prune-writer.ts', import.meta.url), [directory])
  let waits: number[] = []
  writer.on('message', (wait: number) => waits.push(wait))
  await once(writer, 'message')
  await sleep(3000)
  const before = waits.splice(0)
  waits = []
  const measured = await prune(records)
  writer.kill()
  await once(writer, 'exit')
  print({ ...measured, before, during: waits })
} finally {
  await records.close()
  await rm(directory, { recursive: true, force: true })
}

async function fill({ db }: Records): Promise<void> {
  const old = Date.now() - 40 * 86_400_000
  const none = {
    url_id: null,
    tag_id: null,
    entity_id: null,
    value: null,
    soft: 0,
    pages_removed: 0,
    response_time: null,
  }
  for (let id = 1; id <= rows;) {
    await db.transaction().execute(async (transaction) => {
      for (const end = Math.min(id + 20_000, rows + 1); id < end;) {
        const ids = Array.from({ length: Math.min(500, end - id) }, (_, index) => id + index)
        await transaction
          .insertInto('purges')
          .values(
            ids.map((one) => ({
              ...none,
              id: one,
              invalidation_id: one,
              created_at: old + one,
              source: 'cli',
              kind: 'all' as const,
            })),
          )
          .execute()
        await transaction
          .insertInto('purge_deliveries')
          .values(
            ids.map((one) => ({
              purge_id: one,
              proxy: 'varnish-1',
              status: 'delivered' as const,
              response_time: 1,
              error: null,
            })),
          )
          .execute()
        id += ids.length
      }
    })
  }
}

async function prune(own: Records): Promise<{ seconds: number; slices: number[]; blocked: number }> {
  const slices: number[] = []
  const loop = monitorEventLoopDelay({ resolution: 5 })
  const prunePurges = makePrunePurges(['varnish-1'])
  const timed: typeof prunePurges = async (...given) => {
    const started = performance.now()
    const removed = await prunePurges(...given)
    slices.push(performance.now() - started)
    return removed
  }
  loop.enable()
  const started = performance.now()
  await removeInSlices(timed, {
    records: own,
    before: Date.now() - 30 * 86_400_000,
    timing: realTiming,
    stop: new AbortController().signal,
  })
  loop.disable()
  return { seconds: (performance.now() - started) / 1000, slices, blocked: loop.max / 1e6 }
}

function print({
  seconds,
  slices,
  blocked,
  before,
  during,
}: {
  seconds: number
  slices: number[]
  blocked: number
  before: number[]
  during: number[]
}): void {
  const value = {
    rowsPerSecond: Math.round((rows * 2) / seconds),
    slice: { median: median(slices), p99: percentile(slices, 99), max: Math.max(...slices) },
    eventLoopBlocked: blocked,
    waitBefore: { median: median(before), p99: percentile(before, 99) },
    waitDuring: { median: median(during), p99: percentile(during, 99) },
  }
  if (values.json) return console.log(JSON.stringify(value))
  console.log(
    `| ${rows.toLocaleString('en')} purges with a delivery each | median | 99th | maximum |\n|---|---|---|---|`,
  )
  console.log(
    `| a slice, ms | ${value.slice.median.toFixed(1)} | ${value.slice.p99.toFixed(1)} | ${value.slice.max.toFixed(1)} |`,
  )
  console.log(
    `| another process's write before, ms | ${value.waitBefore.median.toFixed(1)} | ${value.waitBefore.p99.toFixed(1)} | |`,
  )
  console.log(
    `| another process's write during, ms | ${value.waitDuring.median.toFixed(1)} | ${value.waitDuring.p99.toFixed(1)} | |`,
  )
  console.log(
    `\n${value.rowsPerSecond.toLocaleString('en')} rows per second; the event loop was blocked for at most ${blocked.toFixed(0)} ms.`,
  )
}
