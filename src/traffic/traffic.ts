import { pageTypes, type PageType } from '../pages/page.ts'
import { MissWindow } from './miss-window.ts'

/** The results of visitors' requests, which are recorded by time. `error`: neither the cache nor the shop had an answer. */
export const visitorResults = ['hit', 'stale', 'miss', 'pass', 'error'] as const
export type VisitorResult = (typeof visitorResults)[number]

/** The results of all requests, for the metrics and the access log. */
export const results = [...visitorResults, 'purge', 'stage', 'own', 'refused'] as const
export type Result = (typeof results)[number]

/** Page types, and `other` for answers that are no page: bypassed and failed requests, and the cache's own 204. */
export const trafficTypes = [...pageTypes, 'other'] as const
export type TrafficType = PageType | 'other'

/** Upper bounds of the duration buckets, in seconds: from hits in microseconds to slow shops. The records have a column for each bucket. */
export const durationBounds = [
  0.000_05, 0.000_1, 0.000_25, 0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
] as const

/** Places of the counts in `Counts.values`; a place for each status class and each duration bucket follows. */
const place = { requests: 0, servedMs: 1, originMs: 2, bytes: 3, classes: 4, buckets: 10 } as const

/**
 * Counts of the requests of one sales channel with one page type and result, since the start of the process. In one array, because a hit
 * waits for each piece of memory that it touches.
 */
export class Counts {
  readonly values = new Float64Array(place.buckets + durationBounds.length + 1)

  get requests(): number {
    return this.values[place.requests]!
  }

  /** Milliseconds until the answers began. */
  get servedMs(): number {
    return this.values[place.servedMs]!
  }

  /** The part of `servedMs` that the shop took. */
  get originMs(): number {
    return this.values[place.originMs]!
  }

  /** Bytes of the bodies. */
  get bytes(): number {
    return this.values[place.bytes]!
  }

  /** By status class: index 2 counts the statuses 200 to 299. Index 0: visitors who left before their answer began. */
  get classes(): Float64Array {
    return this.values.subarray(place.classes, place.buckets)
  }

  /** By duration, not cumulative: index n counts the durations between bound n-1 and bound n. */
  get buckets(): Float64Array {
    return this.values.subarray(place.buckets)
  }

  add(other: Counts): void {
    for (const [index, value] of other.values.entries()) this.values[index]! += value
  }
}

/** What is counted: a page of the cache, or an answer that is none. */
export interface Subject {
  /** Empty for requests that belong to no sales channel. */
  channelId: string
  type: TrafficType
}

export interface Series extends Subject {
  result: Result
  counts: Counts
}

/** A visitor's finished request, as it is shown live. Contains nothing about the visitor: no address, user agent, cookie or query. */
export interface Seen {
  /** When it ended, in milliseconds since the epoch. */
  at: number
  method: string
  result: VisitorResult
  /** Why the answer was no plain hit; null for a hit. */
  reason: string | null
  /** 0: the visitor left before the answer began. */
  status: number
  /** Milliseconds until the answer began. */
  ms: number
  type: TrafficType
  salesChannelId: string
  host: string
  /** Without the query. */
  path: string
}

type ByResult = Record<Result, Counts | null>

/** With all results, so that these objects share one shape. */
function newByResult(): ByResult {
  return Object.fromEntries(results.map((result) => [result, null])) as ByResult
}

const nothing: Subject = { channelId: '', type: 'other' }

/** Request counters of this process since its start. Cheap to update: a hit costs one or two look-ups and changes seven numbers. */
export class Traffic {
  /** Number of answers by status. */
  readonly statuses = new Float64Array(600)
  /** Paths that were missed since they were last taken. */
  readonly misses = new MissWindow()
  /** Shows requests as they end. Null without a watcher, so that a hit pays one comparison. */
  live: { note(seen: Seen): void } | null = null
  readonly #channels = new Map<string, Map<TrafficType, ByResult>>()
  /** The channel of the last request, which is mostly that of the next one too. */
  #lastId = ''
  #lastTypes = this.#typesOf('')

  /**
   * Counts a request.
   *
   * @param status 0: there was no answer
   * @param ms milliseconds until the answer began
   * @param bytes size of the body that was sent
   * @param originMs milliseconds of it that the shop took
   */
  count(result: Result, status: number, ms: number, bytes = 0, subject = nothing, originMs = 0): void {
    const { values } = (this.#byResult(subject)[result] ??= new Counts())
    const seconds = ms / 1000
    let bucket = 0
    while (bucket < durationBounds.length && seconds > durationBounds[bucket]!) bucket += 1
    values[place.requests]! += 1
    values[place.servedMs]! += ms
    values[place.originMs]! += originMs
    values[place.bytes]! += bytes
    values[place.classes + (status > 0 && status < 600 ? Math.floor(status / 100) : 0)]! += 1
    values[place.buckets + bucket]! += 1
    if (status > 0 && status < 600) this.statuses[status]! += 1
  }

  /** Begins with zeros for everything that these channels can have: Prometheus sees a counter rise only if it existed before. */
  expect(channelIds: Iterable<string>): void {
    const expected = [
      ...pageTypes.flatMap((type) => (['hit', 'stale', 'miss'] as const).map((result) => [type, result] as const)),
      ...(['hit', 'pass', 'error'] as const).map((result) => ['other', result] as const),
    ]
    for (const channelId of channelIds)
      for (const [type, result] of expected) this.#byResult({ channelId, type })[result] ??= new Counts()
  }

  /** Everything that was counted. */
  *series(): Generator<Series> {
    for (const [channelId, types] of this.#channels) {
      for (const [type, byResult] of types) {
        for (const [result, counts] of Object.entries(byResult))
          if (counts !== null) yield { channelId, type, result: result as Result, counts }
      }
    }
  }

  #byResult({ channelId, type }: Subject): ByResult {
    if (channelId !== this.#lastId) {
      this.#lastId = channelId
      this.#lastTypes = this.#typesOf(channelId)
    }
    let byResult = this.#lastTypes.get(type)
    if (byResult === undefined) this.#lastTypes.set(type, (byResult = newByResult()))
    return byResult
  }

  #typesOf(channelId: string): Map<TrafficType, ByResult> {
    let types = this.#channels.get(channelId)
    if (types === undefined) this.#channels.set(channelId, (types = new Map()))
    return types
  }
}
