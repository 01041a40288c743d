import type { FetchPage } from '../../src/warmup/run/warm-result.ts'

const never = new AbortController().signal

/** Options of a fetch that nothing holds up. */
export const fetchOptions: Parameters<FetchPage>[1] = {
  headers: {},
  force: false,
  signal: never,
  stop: never,
  mayStart: () => true,
}
