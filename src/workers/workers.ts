import type { App } from '../app.ts'
import { settle } from '../lib/settle.ts'
import { realTiming } from '../lib/timing.ts'
import { printable } from '../lib/safe-text.ts'
import type { ConsumeEvent } from '../queue/consume-event.ts'
import type { ConsumeLimits, Consumed } from '../queue/consume.ts'
import type { Handler, Transport } from '../queue/queue.ts'
import { deliverySetup, makeDeliver } from './deliver.ts'
import { makeNotifyHandler, reportLostWorkers } from './notify.ts'
import { makeAfterPurgeHandler } from './warmup-after-purge.ts'
import { makeWarmupHandler } from './warmup.ts'

/** Makes the handler of one message type. It opens heavy parts of the app with the first message that needs them. */
type HandlerMaker = (app: App) => Promise<Handler>

/** The handlers of all message types except deliveries and scheduled tasks. */
const makers: readonly HandlerMaker[] = [makeWarmupHandler, makeAfterPurgeHandler, makeNotifyHandler]

export interface WorkOptions {
  kind: 'consumer' | 'daemon'
  transports: readonly Transport[]
  limits?: ConsumeLimits
  /** Milliseconds between two polls of an empty queue. */
  sleep?: number
  /** When aborted, the worker finishes the messages in hand and returns. */
  stop: AbortSignal
  onEvent(event: ConsumeEvent): void
  /** Called when messages of all types are taken. */
  onJoined?(): void
}

/**
 * Runs a worker for all message types in this process. A worker of the transport `scheduler` also runs the scheduler. Where
 * purges have a thread, deliveries run in it, where their commits delay no visitor.
 */
export async function work(app: App, options: WorkOptions): Promise<Consumed> {
  const { makeTaskHandlers, schedule } = await import('./tasks.ts')
  const deliver = app.usesThreads ? (await app.purges()).deliver : undefined
  const making = deliver === undefined ? [makeDeliver, ...makers] : makers
  const handlers = await Promise.all([...making.map((make) => make(app)), makeTaskHandlers(app)])
  const ended = new AbortController()
  let joining = deliver === undefined ? 1 : 2
  const onJoined = () => {
    joining -= 1
    if (joining === 0) options.onJoined?.()
  }
  const onEvent = reportLostWorkers(app, options.onEvent)
  const control = { ...options, onEvent, onJoined, stop: AbortSignal.any([options.stop, ended.signal]) }
  const end = () => ended.abort()
  const [consumed] = await settle([
    consumeWith(app, handlers.flat(), control).finally(end),
    deliver?.(deliverySetup(app.config), control).finally(end),
    options.transports.includes('scheduler') ? schedule(app, control.stop).finally(end) : undefined,
  ])
  return consumed
}

/** Runs a worker with only these handlers. */
export async function consumeWith(app: App, handlers: readonly Handler[], options: WorkOptions): Promise<Consumed> {
  const { consume } = await import('../queue/consume.ts')
  return consume({
    ...options,
    queue: await app.queue(),
    handlers,
    timing: realTiming,
    random: Math.random,
    memory: () => process.memoryUsage.rss(),
  })
}

export interface Workers {
  /** Resolves when they take messages, or could not start at once. */
  joined: Promise<void>
  /** Stops the workers after the messages in hand. */
  stop(): Promise<void>
}

/** Delay before the daemon's workers restart after an error (milliseconds). */
const restartDelay = 2000

/**
 * Starts the daemon's workers on both transports. An error in them is reported and never ends the daemon: the cache must keep serving,
 * and the queue loses no message while it waits.
 */
export function startWorkers(app: App, options: { onWarning(message: string): void }): Workers {
  const stop = new AbortController()
  const joined = Promise.withResolvers<void>()
  const run = async (): Promise<void> => {
    let reported = ''
    while (!stop.signal.aborted) {
      try {
        await work(app, {
          kind: 'daemon',
          transports: ['async', 'scheduler'],
          stop: stop.signal,
          onJoined: joined.resolve,
          onEvent: (event) => {
            if (event.kind === 'unavailable') joined.resolve()
            // The daemon itself reports lost records, once for all its workers.
            const isReported = event.kind === 'unavailable' && app.recordsFault() !== null
            if (event.kind !== 'handled' && !isReported) options.onWarning(describeEvent(event))
          },
        })
      } catch (error) {
        const message = `The queue workers stopped: ${error instanceof Error ? error.message : String(error)}`
        // A lasting error is reported once.
        if (message !== reported) options.onWarning(message)
        reported = message
        joined.resolve()
        await realTiming.sleep(restartDelay, stop.signal)
      }
    }
  }
  const running = run().finally(joined.resolve)
  return {
    joined: joined.promise,
    async stop() {
      stop.abort()
      await running
    },
  }
}

/** Formats an event as a log line. */
export function describeEvent(event: ConsumeEvent): string {
  switch (event.kind) {
    case 'handled':
      return printable(`${event.message.type} ${event.message.id} handled`)
    case 'lost':
      return printable(`${event.message.type} ${event.message.id} was taken over by another worker`)
    case 'retried':
      return printable(
        `${event.message.type} ${event.message.id} failed, retry in ${(event.delay / 1000).toFixed(1)} s: ${event.error}`,
      )
    case 'failed':
      return printable(`${event.message.type} ${event.message.id} failed permanently: ${event.error}`)
    case 'unavailable':
      return printable(`The queue is waiting: ${event.error}`)
    case 'buried':
      return printable(
        `Process ${event.worker.process.pid} on ${event.worker.process.host} ended without leaving the queue; its messages were taken over`,
      )
    case 'taken-over':
      return 'Other workers considered this one dead and took over its messages; it continues as a new worker.'
  }
}
