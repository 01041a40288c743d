import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { basename } from 'node:path'

/**
 * Added to the nice value of the process; Linux has one per thread. A thread at 5 still gets a quarter of a core that it shares with the
 * serving thread, so it does not starve.
 */
const behindVisitors = 5
/** The more they are held up, the more memory their work takes: a crawl takes 40 MB more with 10 than with 3, and 150 MB more with 19. */
const farBehind = 10

/** Nice values to add for the threads of V8 (garbage collection, compilation) and libuv (files, compression, name look-ups), by Node's names. */
const helpers = new Map([
  ['V8Worker', farBehind],
  ['libuv-worker', behindVisitors],
])

/**
 * Lets the thread that serves visitors go first where it shares a core with the calling worker thread. Otherwise Linux gives the worker
 * that core for up to 4 ms at a time. Does nothing on other systems, where a thread has no priority of its own.
 */
export function yieldToVisitors(): void {
  whereThreadsAreKnown(() => lower(Number(basename(readlinkSync('/proc/thread-self'))), behindVisitors))
}

/** Lowers the priority of the helper threads of this process in the same way; see `yieldToVisitors`. */
export function lowerHelperThreads(): void {
  whereThreadsAreKnown(() => {
    for (const thread of readdirSync('/proc/self/task')) {
      const by = helpers.get(readFileSync(`/proc/self/task/${thread}/comm`, 'latin1').trim())
      if (by !== undefined) lower(Number(thread), by)
    }
  })
}

function lower(thread: number, by: number): void {
  const priority = Math.min(19, getPriority(process.pid) + by)
  if (getPriority(thread) < priority) setPriority(thread, priority)
}

/** Without /proc, or in a sandbox that forbids it, threads keep their priority. */
function whereThreadsAreKnown(work: () => void): void {
  try {
    // In a PID namespace of its own that shows the host's /proc, the IDs there would belong to threads of other programs.
    if (readlinkSync('/proc/self') === String(process.pid)) work()
  } catch {}
}
