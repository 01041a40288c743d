import { expect, it } from 'vitest'
import { Pacer } from '../../../src/warmup/run/pacer.ts'
import { warm } from '../../../src/warmup/run/warm.ts'

it.each([
  { takes: 0.1, together: 3 },
  { takes: 0.3, together: 1 },
])('pages that take $takes ms each are begun $together at a time', async ({ takes, together }) => {
  expect(new Set(await begunBetweenRests(takes))).toEqual(new Set([together]))
})

/** Warms pages that are fresh. Returns how many were begun between one rest and the next. @param takes milliseconds per page */
async function begunBetweenRests(takes: number): Promise<number[]> {
  let [now, left, done] = [0, 20, 0]
  const begun = [0]
  const timing = {
    now: () => now,
    async sleep(milliseconds: number) {
      expect(milliseconds).toBe(1)
      now += milliseconds
      begun.push(0)
    },
  }
  const rules = { concurrency: 4, requestsPerSecond: null, crawlDelay: null, retries: 3, maxWait: 60_000 }
  const never = new AbortController().signal
  await warm({
    next: async () => (left-- > 0 ? { url: `http://shop.example/${left}` } : null),
    onDone: () => (done += 1),
    async fetchPage() {
      now += takes
      begun[begun.length - 1]! += 1
      return { kind: 'fresh' }
    },
    passes: [{}],
    force: false,
    rules,
    pacer: new Pacer(rules, timing),
    gate: () => null,
    observer: { began: () => () => {} },
    stop: never,
    abort: never,
    timing,
    random: () => 1,
  })
  expect(done).toBe(20)
  return begun.slice(1, -1)
}
