import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/**
 * Size of each half of the young generation in bytes. A page that waits to be stored (about 50 ms) must not become old meanwhile, and what
 * exceeds the processor's cache is slower again: 6 MB cost a seventh more per miss (docs/decisions/0166-young-until-stored.md).
 */
const largeEnough = 12 * 2 ** 20

let users = 0
let isLimited = false

function setGrowth(): void {
  // V8's default is 2.
  const factor = users > 0 ? 1 : isLimited ? Math.max(1, Math.round(largeEnough / youngHalf())) : 2
  setFlagsFromString(`--semi-space-growth-factor=${factor}`)
}

/** The current size of each half of the young generation in bytes. */
function youngHalf(): number {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  return young === undefined ? largeEnough : young.space_used_size + young.space_available_size
}

/**
 * Runs work that creates much short-lived garbage without letting the heap grow: V8 doubles its young generation, up to
 * 128 MB, whenever objects survive by chance, and shrinks it only when little is allocated. Measured with `bench/sitemap.ts`: 110 MB less
 * memory at the same speed.
 */
export async function withSteadyHeap<T>(work: () => Promise<T>): Promise<T> {
  users += 1
  setGrowth()
  try {
    return await work()
  } finally {
    users -= 1
    setGrowth()
  }
}

/** How far the old generation may grow beyond what is in use before garbage is collected, in percent. V8 doubles a small heap. */
const slack = 25
/** The same while that is rarely reached: each collection of the whole heap holds up visitors for tens of milliseconds. */
const slackWhenRare = 120
/**
 * In milliseconds, with `slack`; with more of it as many times more. Collections of the whole heap that come more often keep memory low in a
 * crawl or an import. Without that proportion, each setting would confirm itself.
 */
const rare = 5_000

/** Keeps the heap of a process that runs for long close to what it uses: see `limitYoungGeneration` too. */
export function limitOldGeneration(): void {
  const setSlack = (percent: number) => setFlagsFromString(`--heap-growing-percent=${percent}`)
  let last = -Infinity
  // V8 reads the flag when a collection ends, which is before it is reported here.
  let [granted, next] = [slack, slack]
  setSlack(slack)
  new PerformanceObserver((list) => {
    const inForce = next
    for (const entry of list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[]) {
      if (entry.detail.kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue
      const isRare = (entry.startTime - last) / granted >= rare / slack
      granted = inForce
      next = isRare ? slackWhenRare : slack
      setSlack(next)
      last = entry.startTime
    }
  }).observe({ entryTypes: ['gc'] })
}

/**
 * Collects the young generation without helper threads: they have a lower priority (`lowerHelperThreads`), and the serving thread would wait
 * for them while others use the core. Few objects survive, so one thread is as fast.
 */
export function collectYoungAlone(): void {
  setFlagsFromString('--no-parallel-scavenge')
}

/**
 * Lets the young generation of a process that runs for long grow to `largeEnough` in one step, and no further. V8 shrinks it to a
 * megabyte while little is allocated, except in a daemon that has restarted with `largeEnough` as its smallest size (bin/run.js); if it
 * stayed that small, each collection would make objects old that are hardly used again.
 */
export function limitYoungGeneration(): void {
  isLimited = true
  setGrowth()
  new PerformanceObserver(setGrowth).observe({ entryTypes: ['gc'] })
}
