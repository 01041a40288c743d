import type { LiveEvent, LiveRequest } from '../../../operations/traffic-live.ts'

/** A request with a number that identifies its row. */
export type TailRequest = LiveRequest & { id: number }

/** Requests of one second, as far as they were shown, and all of them. */
interface Second {
  /** Seconds since the epoch. */
  second: number
  requests: number
  shown: Readonly<Record<string, number>>
  /** Longest duration of a request that was shown, in milliseconds. */
  slowest: number
}

/** A path that was missed for a reason. */
interface Miss {
  path: string
  reason: string
  requests: number
  /** Sum of the milliseconds until the answers began. */
  ms: number
}

/** The latest requests and their figures, in bounded memory whatever the traffic is and however slow the terminal. */
export interface Tail {
  /** Daemon processes whose requests are shown. */
  processes: number
  /** The machine that they run on; null with one machine. */
  node: string | null
  /** Newest first. */
  requests: readonly TailRequest[]
  /** Requests since the beginning, with those that were not shown. */
  total: number
  seconds: readonly Second[]
  /** What to add to the monotonic clock here for the clock of the daemon, which stamps the requests, in milliseconds. */
  clock: number
  misses: ReadonlyMap<string, Miss>
}

const emptyTail: Tail = { processes: 0, node: null, requests: [], total: 0, seconds: [], clock: 0, misses: new Map() }

const mostRequests = 500
const mostSeconds = 60
/** Distinct misses; beyond that, the rarest half is forgotten. */
const mostMisses = 1000

/** The tail after an event of `traffic.live` that arrived at `now` (monotonic milliseconds). */
export function addEvent(before: Tail | null, given: unknown, now: number): Tail {
  const tail = before ?? emptyTail
  const event = given as LiveEvent
  if (event.kind === 'processes') return { ...tail, processes: event.processes, node: event.node ?? null }
  const { requests, notShown } = event
  const numbered = requests.map((request, index) => ({ ...request, id: tail.total + index }))
  return {
    ...tail,
    requests: [...numbered.toReversed(), ...tail.requests].slice(0, mostRequests),
    total: tail.total + requests.length + notShown,
    seconds: addSeconds(tail.seconds, requests, notShown),
    clock: requests.length === 0 ? tail.clock : Math.max(...requests.map(({ at }) => Date.parse(at))) - now,
    misses: addMisses(tail.misses, requests),
  }
}

function addSeconds(before: Tail['seconds'], requests: readonly LiveRequest[], notShown: number): Second[] {
  const last = requests.at(-1)
  if (last === undefined) return [...before]
  const seconds = new Map(before.map((each) => [each.second, each]))
  const secondOf = (at: string) => {
    const second = Math.floor(Date.parse(at) / 1000)
    return seconds.get(second) ?? { second, requests: 0, shown: {}, slowest: 0 }
  }
  for (const { at, result, ms } of requests) {
    const before = secondOf(at)
    const shown = { ...before.shown, [result]: (before.shown[result] ?? 0) + 1 }
    const after = { ...before, requests: before.requests + 1, shown, slowest: Math.max(before.slowest, ms) }
    seconds.set(after.second, after)
  }
  const latest = secondOf(last.at)
  seconds.set(latest.second, { ...latest, requests: latest.requests + notShown })
  // In the order of arrival: after a clock was put back, the latest seconds have the lower numbers.
  return [...seconds.values()].slice(-mostSeconds)
}

function addMisses(before: Tail['misses'], requests: readonly LiveRequest[]): Tail['misses'] {
  const missed = requests.filter(({ result }) => result === 'miss')
  if (missed.length === 0) return before
  const misses = new Map(before)
  for (const { path, reason, ms } of missed) {
    const key = `${path} ${reason}`
    const known = misses.get(key) ?? { path, reason: reason ?? '', requests: 0, ms: 0 }
    misses.set(key, { ...known, requests: known.requests + 1, ms: known.ms + ms })
  }
  if (misses.size <= mostMisses) return misses
  const frequent = [...misses].toSorted(([, one], [, other]) => other.requests - one.requests)
  return new Map(frequent.slice(0, mostMisses / 2))
}

/** The last seconds before `now` (monotonic milliseconds), oldest first. The current second is incomplete and left out. */
export function lastSeconds({ seconds, clock }: Tail, now: number): Second[] {
  const first = Math.floor((clock + now) / 1000) - mostSeconds + 1
  const known = new Map(seconds.map((each) => [each.second, each]))
  return Array.from({ length: mostSeconds - 1 }, (_, index) => {
    const second = first + index
    return known.get(second) ?? { second, requests: 0, shown: {}, slowest: 0 }
  })
}

/** Share of hits among the requests that the cache was asked for; null without any. */
export function hitRatio({ hit = 0, stale = 0, miss = 0 }: Readonly<Record<string, number>>): number | null {
  return hit + stale + miss === 0 ? null : (hit + stale) / (hit + stale + miss)
}

/** Shown requests of the last minute before `now` (monotonic milliseconds) by result. */
export function byResult({ seconds, clock }: Tail, now: number): Record<string, number> {
  const since = Math.floor((clock + now) / 1000) - mostSeconds
  const sum: Record<string, number> = {}
  for (const { second, shown } of seconds)
    if (second > since) for (const [result, count] of Object.entries(shown)) sum[result] = (sum[result] ?? 0) + count
  return sum
}
