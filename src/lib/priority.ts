import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { getPriority, setPriority } from 'node:os'
import { basename } from 'node:path'

/**
 * Added to the nice value of the process; Linux has one per thread. A thread at 5 still gets a quarter of a core that it shares with the
 * serving thread, so it does not starve.
 */
const behindVisitors = 5
/**
 * Threads of V8 (garbage collection, compilation) and libuv (files, compression, name look-ups), by Node's names. The more V8's are held
 * up, the more memory their work takes (docs/decisions/0138-priority-of-threads.md).
 */
const helpers = new Set(['V8Worker', 'libuv-worker'])

/** Whether visitors do not wait for this thread. */
let isBehind = false

/**
 * Lets the thread that serves visitors go first where it shares a core with the calling worker thread. Otherwise Linux gives the worker
 * that core for up to 4 ms at a time. Does nothing on other systems, where a thread has no priority of its own.
 */
export function yieldToVisitors(): void {
  isBehind = true
  whereThreadsAreKnown(() => lower(Number(basename(readlinkSync('/proc/thread-self')))))
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))
/** In milliseconds; Linux makes it about twice as long. */
const shortest = 0.05

/**
 * Lets the calling worker thread sleep for a moment, within a step that cannot be interrupted. Priority decides who gets a core next, but
 * Linux does not take it from a thread within the first three milliseconds. Does nothing in a thread that has not called `yieldToVisitors`.
 */
export function letVisitorsIn(): void {
  if (isBehind) Atomics.wait(sleeper, 0, 0, shortest)
}

/** Lowers the priority of the helper threads of this process in the same way; see `yieldToVisitors`. */
export async function lowerHelperThreads(): Promise<void> {
  // libuv starts its threads with their first task, whatever becomes of it.
  await stat('/').catch(() => {})
  whereThreadsAreKnown(() => {
    for (const thread of readdirSync('/proc/self/task'))
      if (helpers.has(readFileSync(`/proc/self/task/${thread}/comm`, 'latin1').trim())) lower(Number(thread))
  })
}

function lower(thread: number): void {
  const priority = Math.min(19, getPriority(process.pid) + behindVisitors)
  if (getPriority(thread) < priority) setPriority(thread, priority)
}

/** Without /proc, or in a sandbox that forbids it, threads keep their priority. */
function whereThreadsAreKnown(work: () => void): void {
  try {
    // In a PID namespace of its own that shows the host's /proc, the IDs there would belong to threads of other programs.
    if (readlinkSync('/proc/self') === String(process.pid)) work()
  } catch {}
}
