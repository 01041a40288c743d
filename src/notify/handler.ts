import type { Handler } from '../queue/queue.ts'
import { notifyType, type NotifyPayload, type Webhook } from './notification.ts'
import { sendNotification } from './send.ts'

export interface NotifyHandlerOptions {
  webhooks: readonly Webhook[]
  /** Milliseconds since the epoch. */
  now(): number
}

/** Attempts for a notification, over about two hours. */
const tries = 12
/** Milliseconds. */
const [firstDelay, longestDelay] = [5_000, 30 * 60_000]

/** The handler of `notify.send`: sends a notification to one webhook, and retries it while the receiver is unreachable. */
export function notifyHandler({ webhooks, now }: NotifyHandlerOptions): Handler {
  return {
    type: notifyType,
    tries,
    // A slow receiver holds back no other one for long.
    concurrency: 4,
    backoff: (attempts) => Math.min(longestDelay, firstDelay * 2 ** (attempts - 1)),
    async handle(work) {
      const { message } = work
      const { webhook: name, notification } = message.payload as NotifyPayload
      const webhook = webhooks.find((each) => each.name === name)
      if (webhook === undefined) throw final(`${name}: it is no longer configured`)
      const signal = AbortSignal.any([work.stop, work.lost])
      const result = await sendNotification(webhook, notification, { now: now(), signal })
      if (result.ok) return
      // A request that was aborted says nothing about the receiver: the next worker sends it again.
      if (signal.aborted) return work.release(message)
      const error = `${name}: ${result.error}`
      throw result.retry ? new Error(error) : final(error)
    },
  }
}

/** An error that moves the message to the transport `failed` at once; `retry` is read by the queue. */
function final(message: string): Error {
  return Object.assign(new Error(message), { retry: false })
}
