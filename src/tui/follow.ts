import { setTimeout as sleep } from 'node:timers/promises'
import type { Emit } from '../operations/operation.ts'
import type { Source } from './source.ts'

export interface FollowOptions {
  source: Source
  /** A live operation. */
  operation: string
  input: object
  emit: Emit
  signal: AbortSignal
  /** Called with the reason when following is interrupted, and with null once it goes on. */
  onInterruption(reason: string | null): void
  /** Whether it also waits for a daemon that is not there at first. */
  patient?: boolean
}

/** Delays before following again, in milliseconds. */
const [shortest, longest] = [500, 5000]

/**
 * Follows a live operation until the signal is aborted, also across restarts of the daemon.
 *
 * @throws the error of the first attempt, unless it is patient
 */
export async function follow({
  source,
  operation,
  input,
  emit,
  signal,
  onInterruption,
  patient = false,
}: FollowOptions): Promise<void> {
  let begun = false
  let delay = shortest
  const onEvent = (event: unknown) => {
    if (!begun || delay > shortest) onInterruption(null)
    begun = true
    delay = shortest
    return emit(event)
  }
  while (!signal.aborted) {
    try {
      await source.perform(operation, input, { emit: onEvent, signal })
    } catch (error) {
      if (signal.aborted) return
      if (!begun && !patient) throw error
      delay = Math.min(longest, delay * 2)
      onInterruption(error instanceof Error ? error.message : String(error))
    }
    await sleep(delay, undefined, { signal }).catch(() => {})
  }
}
