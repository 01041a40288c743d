import type { Step } from './plan.ts'
import type { PurgeSender } from './send.ts'

/** What came of sending some steps. */
export interface Attempt {
  /** Those that the proxy has taken, with the milliseconds that each took. */
  done: { step: Step; ms: number }[]
  /** Why the others were not sent, or not taken. */
  trouble: Trouble | null
}

export interface Trouble {
  error: string
  /** Milliseconds that it took to show. */
  ms: number
}

/**
 * Sends steps over all connections of a sender. The first that fails ends it: a proxy in trouble is not asked on. A request that
 * the proxy refuses to take as it is (too long for it, say) becomes everything: too much is gone then, but nothing stays.
 */
export async function attempt(sender: PurgeSender, steps: readonly Step[], end: AbortSignal): Promise<Attempt> {
  const queue = [...steps]
  const made: Attempt = { done: [], trouble: null }
  const run = async (connection: number): Promise<void> => {
    for (let step = queue.shift(); step !== undefined && made.trouble === null; step = queue.shift()) {
      let outcome = await sender.send(step, connection, end)
      if (outcome.kind === 'refused' && step.kind !== 'everything') {
        step = { kind: 'everything' }
        outcome = await sender.send(step, connection, end)
      }
      if (outcome.kind === 'done') {
        made.done.push({ step, ms: outcome.ms })
        if (step.kind === 'everything') queue.length = 0
      } else made.trouble ??= { error: outcome.error, ms: outcome.ms }
    }
  }
  await Promise.all(
    Array.from({ length: Math.min(sender.connections, steps.length) }, (_, connection) => run(connection)),
  )
  return made
}
