import { setTimeout as sleep } from 'node:timers/promises'

/** How long `until` waits, in ms. It only ends what hangs: on a machine under load everything is slow, and that fails no test. */
const patience = 120_000

/** Calls `check` until it neither throws nor returns false, and returns its value. Fails with the last error of `check`. `least`: of the pauses, in ms. */
export async function until<T>(check: () => T, least = 5): Promise<Exclude<Awaited<T>, false>> {
  for (const began = performance.now(); ;) {
    const failure = new Error(`Still false after ${patience / 1000} s: ${check}`)
    try {
      const value = await check()
      if (value !== false) return value as Exclude<Awaited<T>, false>
    } catch (error) {
      failure.cause = error
    }
    const waited = performance.now() - began
    if (waited > patience) throw failure.cause ?? failure
    // Short at first, since most states come about in milliseconds; then a tenth of the wait so far.
    await sleep(Math.max(least, Math.min(5 + waited / 10, 100)))
  }
}
