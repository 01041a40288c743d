import { dispatch } from '../../queue/dispatch.ts'
import type { Handler, NewMessage, Work } from '../../queue/queue.ts'
import { waitFor } from './circuit.ts'
import { connections, Delivery, type DeliverOptions } from './delivery.ts'
import { deliverMessage, deliverType } from './message.ts'
import * as rows from './rows.ts'
import { PurgeSender } from './send.ts'

/** The error of purges that a worker did not deliver because their proxy was not in its configuration. */
const notConfigured = 'it is no longer configured'

/**
 * The handler of `purge.deliver`: delivers all pending purges of one proxy. A proxy that does not answer is retried with growing delays;
 * other proxies do not wait for it.
 */
export function deliverHandler(options: DeliverOptions): Handler {
  return {
    type: deliverType,
    concurrency: Math.max(1, options.proxies.length),
    async handle(work) {
      const name = (work.message.payload as { proxy: string }).proxy
      const proxy = options.proxies.find((each) => each.name === name)
      if (proxy === undefined) return failAll(options, work, name)
      const circuit = await rows.readCircuit(options.db, name)
      const wait = waitFor(circuit, options.now())
      if (wait > 0) return work.release(work.message, { delay: wait })
      const sender = await PurgeSender.open({ url: proxy.url, timeout: options.settings.timeout }, connections)
      try {
        await new Delivery(options, work, name, sender, circuit).run()
      } finally {
        await sender.close()
      }
    },
  }
}

/**
 * Queues deliveries to proxies whose purges a worker with another configuration marked as failed, and to those with purges that are still
 * to be delivered: the queue may have given up their message because workers died. Called when a worker starts.
 *
 * @param proxies names of the proxies that this worker knows
 */
export async function resumeDeliveries(
  { db, now }: Pick<DeliverOptions, 'db' | 'now'>,
  proxies: readonly string[],
): Promise<void> {
  const failed = await rows.proxiesFailedWith(db, notConfigured)
  const messages: NewMessage[] = []
  for (const proxy of proxies)
    if (failed.includes(proxy) || (await rows.lastUndelivered(db, proxy, 'pending')) > 0)
      messages.push(deliverMessage(proxy))
  if (messages.length > 0) await db.transaction().execute((transaction) => dispatch(transaction, now(), messages))
}

/** Marks the pending purges of a proxy that is no longer configured as failed. */
async function failAll({ db }: DeliverOptions, work: Work, proxy: string): Promise<void> {
  const last = await rows.lastUndelivered(db, proxy, 'pending')
  for (;;) {
    const batch = await rows.nextUndelivered(db, proxy, 'pending', last)
    if (batch.length === 0) return
    const ids = batch.map(({ id }) => id)
    await db.transaction().execute(async (transaction) => {
      await work.hold(transaction, work.message)
      await rows.markFailed(transaction, proxy, ids, notConfigured)
    })
  }
}
