import pLimit from 'p-limit'
import type { Step } from './plan.ts'
import type { PurgeSender } from './send.ts'

/** The result of sending some steps. */
export interface Attempt {
  /** The acknowledged steps, each with its response time in milliseconds. */
  done: { step: Step; ms: number }[]
  /** Why the remaining steps were not sent or not acknowledged; null when all were. */
  failure: SendFailure | null
}

export interface SendFailure {
  error: string
  /** Milliseconds until the request failed. */
  ms: number
}

/**
 * Sends steps, at most `concurrency` at a time. After the first failure no further step is sent. When the proxy refuses a request as
 * such (too long, say), everything is purged instead: that removes too many pages, but leaves no outdated one.
 */
export async function attempt(
  sender: PurgeSender,
  steps: readonly Step[],
  concurrency: number,
  end: AbortSignal,
): Promise<Attempt> {
  const result: Attempt = { done: [], failure: null }
  const send = async (planned: Step): Promise<void> => {
    if (result.failure !== null || result.done.some(({ step }) => step.kind === 'everything')) return
    let step = planned
    let sent = await sender.send(step, end)
    if (sent.kind === 'refused' && step.kind !== 'everything') {
      step = { kind: 'everything' }
      sent = await sender.send(step, end)
    }
    if (sent.kind === 'done') result.done.push({ step, ms: sent.ms })
    else result.failure ??= { error: sent.error, ms: sent.ms }
  }
  await pLimit(concurrency).map(steps, send)
  return result
}
