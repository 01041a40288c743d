import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import type { Timing } from '../../src/lib/timing.ts'
import { statementsInFlight } from './statements-in-flight.ts'

/** A test fails as stuck when nothing has waited for the clock for this long, in real milliseconds. */
const stuckAfter = 10_000

/** A clock that jumps to the next timer as soon as nothing else is left to do: hours pass in milliseconds. */
export class VirtualTiming implements Timing {
  #now = 0
  readonly #sleepers: { at: number; wake: () => void }[] = []

  now(): number {
    return this.#now
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper = { at: this.#now + milliseconds, wake: resolve }
      const leave = () => {
        const index = this.#sleepers.indexOf(sleeper)
        if (index >= 0) this.#sleepers.splice(index, 1)
        resolve()
      }
      if (signal?.aborted) return resolve()
      signal?.addEventListener('abort', leave, { once: true })
      this.#sleepers.push(sleeper)
    })
  }

  /** Lets time pass until the promise is settled. Throws if it waits for something other than time. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let settled = false
    const mark = () => void (settled = true)
    promise.then(mark, mark)
    let busyUntil = performance.now() + stuckAfter
    for (;;) {
      for (let turn = 0; turn < 3; turn++) await nextTurn()
      if (settled) return promise
      const next = this.#sleepers.toSorted((a, b) => a.at - b.at)[0]
      if (!next || statementsInFlight() > 0 || isTurnPending()) {
        // The wait may be for something real: a file, an answer of PostgreSQL, another connection's lock, or a turn of the event loop.
        if (performance.now() > busyUntil) throw new Error(`Nothing happens any more, at ${this.#now} ms`)
        await wait(1)
        continue
      }
      busyUntil = performance.now() + stuckAfter
      this.#sleepers.splice(this.#sleepers.indexOf(next), 1)
      this.#now = Math.max(this.#now, next.at)
      next.wake()
    }
  }
}

/** Whether something waits for the next turn of the event loop, as SQLite queries do after one that took long. */
function isTurnPending(): boolean {
  return process.getActiveResourcesInfo().includes('Immediate')
}
