import type { App } from '../app.ts'
import { realTiming } from '../lib/timing.ts'
import { printable } from '../lib/printable.ts'
import type { ConsumeEvent } from '../queue/consume-event.ts'
import type { ConsumeLimits, Consumed } from '../queue/consume.ts'
import type { Handler, Transport } from '../queue/queue.ts'
import { makeDeliver } from './deliver.ts'
import { makeAfterPurgeHandler } from './warmup-after-purge.ts'
import { makeWarmupHandler } from './warmup.ts'

/** Makes the handler of one type of message from what the app has. Heavy parts are opened by the first message that needs them. */
type HandlerMaker = (app: App) => Promise<Handler>

/** Every type of message that there is, with who handles it. */
const makers: readonly HandlerMaker[] = [makeDeliver, makeWarmupHandler, makeAfterPurgeHandler]

export interface WorkOptions {
  kind: 'consumer' | 'daemon'
  transports: readonly Transport[]
  limits?: ConsumeLimits
  /** Milliseconds between two looks at an empty queue. */
  sleep?: number
  /** Finish what is in hand and come back. */
  stop: AbortSignal
  onEvent(event: ConsumeEvent): void
}

/**
 * Consumes messages of all types in this process; `src/queue/consume.ts` says how. Whoever takes messages of the
 * scheduler queues the tasks that are due as well.
 */
export async function work(app: App, options: WorkOptions): Promise<Consumed> {
  const { makeTaskHandlers, schedule } = await import('./tasks.ts')
  const handlers = await Promise.all([...makers.map((make) => make(app)), makeTaskHandlers(app)])
  if (!options.transports.includes('scheduler')) return consumeWith(app, handlers.flat(), options)
  const ended = new AbortController()
  const stop = AbortSignal.any([options.stop, ended.signal])
  const [consumed] = await Promise.all([
    consumeWith(app, handlers.flat(), { ...options, stop }).finally(() => ended.abort()),
    schedule(app, stop).finally(() => ended.abort()),
  ])
  return consumed
}

/** Consumes messages with these handlers alone. */
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
  /** Finishes the messages in hand. */
  stop(): Promise<void>
}

/** After a fault the daemon's workers begin again so much later (milliseconds). */
const restartAfter = 2000

/**
 * The workers inside the daemon, on both transports. What goes wrong in them is told and never ends the daemon: a
 * cache that serves is worth more than its queue, which loses nothing while it waits.
 */
export function startWorkers(app: App, options: { onTell(message: string): void }): Workers {
  const stop = new AbortController()
  const run = async (): Promise<void> => {
    let told = ''
    while (!stop.signal.aborted) {
      try {
        await work(app, {
          kind: 'daemon',
          transports: ['async', 'scheduler'],
          stop: stop.signal,
          onEvent: (event) => {
            if (event.kind !== 'handled') options.onTell(describeEvent(event))
          },
        })
      } catch (error) {
        const message = `The workers of the queue stopped: ${error instanceof Error ? error.message : String(error)}`
        // A fault that lasts is told once.
        if (message !== told) options.onTell(message)
        told = message
        await realTiming.sleep(restartAfter, stop.signal)
      }
    }
  }
  const running = run()
  return {
    async stop() {
      stop.abort()
      await running
    },
  }
}

/** An event as a line of a log. */
export function describeEvent(event: ConsumeEvent): string {
  switch (event.kind) {
    case 'handled':
      return printable(`${event.message.type} ${event.message.id} handled`)
    case 'lost':
      return printable(`${event.message.type} ${event.message.id} was taken over by another worker`)
    case 'retried':
      return printable(
        `${event.message.type} ${event.message.id} failed and is tried again in ${(event.delay / 1000).toFixed(1)} s: ${event.error}`,
      )
    case 'failed':
      return printable(`${event.message.type} ${event.message.id} failed for good: ${event.error}`)
    case 'unavailable':
      return printable(`The queue waits: ${event.error}`)
    case 'taken-over':
      return 'Other workers took this one for dead and took over its messages; it goes on as a new one.'
  }
}
