import { afterEach, beforeEach } from 'vitest'
import { scratch, type Scratch } from '../../helpers/scratch.ts'
import type { WarmResult } from '../../../src/warmup/run/warm-result.ts'
import { WarmupBench } from '../../helpers/warmup-bench.ts'

let directory: Scratch

export let bench: WarmupBench

/** Opens a bench for each test of the file that calls it. */
export function useBench(): void {
  beforeEach(async () => {
    directory = await scratch('runs')
    bench = await WarmupBench.open(directory.path)
  })

  afterEach(async () => {
    await bench.close()
    await directory.discard()
  })
}

export const notFound: WarmResult = { kind: 'failed', status: 404, error: 'answered 404', retryAfter: null, ms: 1 }
