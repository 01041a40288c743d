import type { Records } from '../records/open.ts'
import { amountColumns, type TrafficAmounts } from '../records/traffic-rows.ts'
import { isVisitors } from './result.ts'
import type { Counts, Series, Traffic } from './traffic.ts'
import { toAmounts, writeTraffic, type HourMisses, type MinuteRow } from './write-traffic.ts'

/** Milliseconds between two writes: what a crash loses. */
const interval = 10_000
/** Rows that wait while the records are not writable. Beyond it the oldest are lost: memory must not fill. */
const mostWaiting = 20_000
/** Most frequent misses of an interval that are written. */
const missesPerWrite = 50

export interface RecorderOptions {
  traffic: Traffic
  /** The current records; a reload replaces them. */
  records(): Promise<Pick<Records, 'db'>>
  /** The wall clock, in milliseconds since the epoch: what all processes agree on. */
  now(): number
  /** Milliseconds on a clock that is never set. */
  monotonic(): number
  onError(message: string, error: unknown): void
}

/**
 * Writes what a process counts to the records every ten seconds, at the full ten seconds of the clock, so that each count lands in its minute.
 * Counts that cannot be written wait and are written later. All processes of a daemon add to the same rows.
 */
export class TrafficRecorder {
  readonly #options: RecorderOptions
  /** What was collected of each series so far. */
  readonly #collected = new WeakMap<Counts, TrafficAmounts>()
  #waiting = new Map<string, MinuteRow>()
  #misses: HourMisses[] = []
  /** The time of the last collection on the monotonic clock. */
  #collectedAt: number
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> = Promise.resolve()
  #failing = false
  #closed = false

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#collectedAt = options.monotonic()
  }

  /** Names the sales channels whose visitors are counted. */
  expect(channels: readonly { id: string }[]): this {
    this.#options.traffic.expect(channels.map(({ id }) => id))
    return this
  }

  /** Starts writing. */
  start(): this {
    this.#timer = setTimeout(
      () => void this.write().then(() => this.#closed || this.start()),
      interval - (this.#options.now() % interval),
    )
    this.#timer.unref()
    return this
  }

  /** Writes all counts now. One write runs at a time. */
  write(): Promise<void> {
    this.#collect()
    return (this.#writing = this.#writing.then(() => this.#write()))
  }

  /** Writes the last counts. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.write()
  }

  #collect(): void {
    const { traffic, now, monotonic } = this.#options
    // Requests since the last collection belong to the minute in which that was, as the wall clock now has it.
    const start = Math.floor((now() - (monotonic() - this.#collectedAt)) / 60_000)
    this.#collectedAt = monotonic()
    for (const series of traffic.series()) {
      if (isVisitors(series.result) && series.channelId !== '') this.#add(start, series)
    }
    const misses = traffic.misses.take(missesPerWrite)
    if (misses.length > 0) this.#misses.push({ hour: Math.floor(start / 60), misses })
    if (this.#misses.length > mostWaiting / missesPerWrite) this.#misses.shift()
  }

  #add(start: number, { channelId, type, result, counts }: Series): void {
    const all = toAmounts(counts)
    const before = this.#collected.get(counts)
    if (all.requests === (before?.requests ?? 0)) return
    this.#collected.set(counts, all)
    const key = `${start} ${channelId} ${type} ${result}`
    const waiting = this.#waiting.get(key)
    const row = {
      start,
      channel_id: channelId,
      type,
      result,
      ...combine(all, before, (amount, known) => amount - known),
    }
    this.#waiting.set(
      key,
      waiting === undefined ? row : { ...row, ...combine(row, waiting, (one, other) => one + other) },
    )
    if (this.#waiting.size > mostWaiting) this.#waiting.delete(this.#waiting.keys().next().value!)
  }

  async #write(): Promise<void> {
    if (this.#waiting.size === 0 && this.#misses.length === 0) return
    const [waiting, misses] = [this.#waiting, this.#misses]
    this.#waiting = new Map()
    this.#misses = []
    try {
      const { db } = await this.#options.records()
      await writeTraffic(db, { minutes: [...waiting.values()], misses, now: this.#options.now() })
      this.#failing = false
    } catch (error) {
      this.#waiting = mergeRows(waiting, this.#waiting)
      this.#misses = [...misses, ...this.#misses]
      if (!this.#failing) this.#options.onError('Could not record the traffic; it is written later', error)
      this.#failing = true
    }
  }
}

function combine(
  one: TrafficAmounts,
  other: TrafficAmounts | undefined,
  apply: (one: number, other: number) => number,
): TrafficAmounts {
  return amountsOf((column) => apply(one[column], other?.[column] ?? 0))
}

function amountsOf(valueOf: (column: keyof TrafficAmounts) => number): TrafficAmounts {
  return Object.fromEntries(amountColumns.map((column) => [column, valueOf(column)])) as unknown as TrafficAmounts
}

function mergeRows(older: Map<string, MinuteRow>, newer: Map<string, MinuteRow>): Map<string, MinuteRow> {
  for (const [key, row] of newer) {
    const known = older.get(key)
    older.set(key, known === undefined ? row : { ...row, ...combine(row, known, (one, other) => one + other) })
  }
  return older
}
