/**
 * Claim: counting traffic by channel, type and result costs a hit no measurable time, and writing and reading it delays visitors by
 * milliseconds at most.
 *
 *   npx node bench/traffic.ts [--cells 60] [--json]
 *
 * First it counts hits of twenty pages with the counters and, as the floor, with one histogram for all requests, alternately, and prints
 * nanoseconds and their ratio, then repeats this with the check for watchers (`live`), without a watcher and with one. Then it records `--cells` combinations of channel, type and result: it prints the processor time of one
 * write, fills 48 hours of minutes and 400 days of hours, and prints the size of the tables, the processor time of reading each of them, and
 * the longest time that it keeps other work of the process waiting.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { openRecords } from '../src/records/open.ts'
import { readTraffic } from '../src/traffic/read-traffic.ts'
import { toSeen } from '../src/traffic/live/seen.ts'
import { Window } from '../src/traffic/live/window.ts'
import { TrafficRecorder } from '../src/traffic/recorder.ts'
import { durationBounds, Traffic, trafficTypes, visitorResults } from '../src/traffic/traffic.ts'
import { toAmounts, writeTraffic, type MinuteRow } from '../src/traffic/write-traffic.ts'
import { median } from './lib/statistics.ts'

const { values } = parseArgs({
  options: { cells: { type: 'string', default: '60' }, json: { type: 'boolean', default: false } },
})
const hits = 3_000_000
const rounds = 7
const hour = 3_600_000

/** The counters before traffic was recorded: one histogram for each result. */
class Floor {
  readonly statuses = new Float64Array(600)
  readonly buckets = new Float64Array(durationBounds.length + 1)
  requests = 0
  sum = 0

  count(status: number, ms: number): void {
    const seconds = ms / 1000
    this.requests += 1
    this.sum += seconds
    let bucket = 0
    while (bucket < durationBounds.length && seconds > durationBounds[bucket]!) bucket += 1
    this.buckets[bucket]! += 1
    if (status > 0 && status < 600) this.statuses[status]! += 1
  }
}

const pages = Array.from({ length: 20 }, (_, page) => ({
  channelId: `0190c0de-0000-7000-8000-00000000000${page % 10 === 9 ? 1 : 0}`,
  type: trafficTypes[page % 5]!,
}))
const durations = Array.from({ length: 64 }, (_, each) => 0.02 + (each % 8) * 0.01)

function nanoseconds(count: (page: (typeof pages)[number], ms: number) => void): number {
  const started = performance.now()
  for (let hit = 0; hit < hits; hit += 1) count(pages[hit % 20]!, durations[hit & 63]!)
  return ((performance.now() - started) * 1e6) / hits
}

const [floor, traffic] = [new Floor(), new Traffic()]
/** A hit that watchers may see, as `hit-connection` records it. */
const shown = (of: Traffic) => (page: (typeof pages)[number], ms: number) => {
  of.count('hit', 200, ms, 5_000, page)
  of.live?.note(toSeen({ ...hit, ms }, page))
}
const hit = { method: 'GET', host: 'shop.example', target: '/a?b', result: 'hit', reason: null, status: 200 } as const
const [unwatched, watched, window] = [new Traffic(), new Traffic(), new Window()]
watched.live = { note: (seen) => window.add(seen) }
const counted = Array.from({ length: rounds + 1 }, () => ({
  floor: nanoseconds((_, ms) => floor.count(200, ms)),
  traffic: nanoseconds((page, ms) => traffic.count('hit', 200, ms, 5_000, page)),
  unwatched: nanoseconds(shown(unwatched)),
  watched: nanoseconds(shown(watched)),
})).slice(1)
const ratiosOf = (ratio: (each: (typeof counted)[number]) => number) =>
  counted.map(ratio).toSorted((one, other) => one - other)
const ratios = ratiosOf((each) => each.traffic / each.floor)
const unwatchedRatios = ratiosOf((each) => each.unwatched / each.traffic)

const cells = Array.from({ length: Number(values.cells) }, (_, cell) => ({
  channel_id: `channel-${Math.floor(cell / 30)}`,
  type: trafficTypes[cell % 6]!,
  result: visitorResults[Math.floor(cell / 6) % 5]!,
}))
const directory = await mkdtemp(join(tmpdir(), 'pagecache-traffic-'))
const now = Date.now()
const records = await openRecords({ directory, now: () => now })
try {
  const writes: number[] = []
  const some = new Traffic()
  const recorder = new TrafficRecorder({
    traffic: some,
    records: () => Promise.resolve(records),
    now: () => now,
    monotonic: () => now,
    onError: (message, error) => console.error(message, error),
  })
  for (let round = 0; round < 20; round += 1) {
    for (const { channel_id, type, result } of cells) some.count(result, 200, 1, 1, { channelId: channel_id, type })
    const before = process.cpuUsage()
    await recorder.write()
    writes.push(processorMs(before))
  }
  await fill()
  const report = {
    hit: {
      floorNs: median(counted.map((each) => each.floor)),
      trafficNs: median(counted.map((each) => each.traffic)),
      ratio: median(ratios),
      range: [ratios[0], ratios.at(-1)],
    },
    live: {
      unwatchedNs: median(counted.map((each) => each.unwatched)),
      watchedNs: median(counted.map((each) => each.watched)),
      ratio: median(unwatchedRatios),
      range: [unwatchedRatios[0], unwatchedRatios.at(-1)],
    },
    write: { rows: 2 * cells.length, processorMs: median(writes) },
    tablesMiB: (await stat(join(directory, 'records.sqlite'))).size / 2 ** 20,
    read: {
      '24 hours': await reading(24),
      '48 hours by minute': await reading(48, 'minute'),
      '30 days': await reading(30 * 24),
      '400 days': await reading(400 * 24),
    },
  }
  if (values.json) console.log(JSON.stringify(report))
  else console.dir(report, { depth: 4 })
} finally {
  await records.close()
  await rm(directory, { recursive: true })
}

/** Fills 48 hours of minutes and 400 days of hours. */
async function fill(): Promise<void> {
  const amounts = toAmounts({
    requests: 1234,
    servedMs: 5678,
    originMs: 4321,
    bytes: 12_345_678,
    classes: Float64Array.of(0, 0, 1200, 20, 10, 4),
    buckets: new Float64Array(durationBounds.length + 1).fill(80),
  })
  const rowsAt = (at: number): MinuteRow[] =>
    cells.map((cell) => ({ start: Math.floor(at / 60_000), ...cell, ...amounts }))
  for (let ago = 400 * 24; ago > 48; ago -= 24) {
    const minutes = Array.from({ length: 24 }, (_, each) => rowsAt(now - (ago - each) * hour)).flat()
    await writeTraffic(records.db, { minutes, misses: [], now: now - (ago - 24) * hour })
  }
  for (let ago = 48 * 60 - 1; ago > 0; ago -= 60) {
    const minutes = Array.from({ length: 60 }, (_, each) => rowsAt(now - (ago - each) * 60_000)).flat()
    await writeTraffic(records.db, { minutes, misses: [], now })
  }
  await records.truncateLog()
}

async function reading(hours: number, bucket: 'minute' | null = null) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const before = process.cpuUsage()
  await readTraffic(records.db, { from: now - hours * hour + 60_000, to: now, bucket }, now)
  const ms = processorMs(before)
  delay.disable()
  return { processorMs: ms, longestDelayMs: delay.max / 1e6 }
}

/** Processor time since then: on a busy machine, a clock would measure the others. */
function processorMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
