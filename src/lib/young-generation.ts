import { setFlagsFromString } from 'node:v8'
import type { ResourceLimits, Worker } from 'node:worker_threads'

/** V8 divides the limit of a young generation among its two halves and as much for large objects. */
const spacesOfYoungGeneration = 3

/**
 * Starts a thread whose young generation has the same size at all times, whatever `limitYoungGeneration` (steady-heap.ts) does for that of the process.
 *
 * @param half size of each half in MB
 */
export function withYoungGeneration(half: number, start: (resourceLimits: ResourceLimits) => Worker): Worker {
  const reset = () => setFlagsFromString('--min-semi-space-size=0')
  setFlagsFromString(`--min-semi-space-size=${half}`)
  try {
    const worker = start({ maxYoungGenerationSizeMb: half * spacesOfYoungGeneration })
    // V8 reads the flag while the thread starts.
    worker.once('online', reset)
    worker.once('exit', reset)
    return worker
  } catch (error) {
    reset()
    throw error
  }
}
