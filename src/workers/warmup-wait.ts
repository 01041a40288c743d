import type { App } from '../app.ts'
import { realTiming } from '../lib/timing.ts'
import type { WarmupStatus } from '../records/schema.ts'
import type { StandbyOptions, WaitForRunOptions } from '../warmup/run/wait.ts'

interface WaitOptions<Progress extends { status: WarmupStatus }> extends Omit<
  WaitForRunOptions<Progress>,
  'standby' | 'timing'
> {
  /** Null if the run belongs to a daemon on another machine. */
  app: App | null
  onMessage(message: string): void
  /** Called if `stop` is aborted while workers of `app` process the run: they finish the pages in progress. */
  onFinishing?(): void
}

/** Waits until a run has ended; with an app, its workers process the run while no other worker does (`waitForRun`). */
export async function waitForWarmup<Progress extends { status: WarmupStatus }>({
  app,
  onMessage,
  onFinishing,
  ...options
}: WaitOptions<Progress>): Promise<void> {
  const { waitForRun } = await import('../warmup/run/wait.ts')
  await waitForRun({
    ...options,
    standby: app && standbyOf(app, onMessage, () => options.stop.aborted && onFinishing?.()),
    timing: realTiming,
  })
}

function standbyOf(app: App, onMessage: (message: string) => void, onStop: () => void): StandbyOptions {
  return {
    async hasOtherWorkers() {
      const { hasOtherWorkers } = await import('../warmup/run/active-workers.ts')
      return hasOtherWorkers(await app.queue())
    },
    async work(stop) {
      const [{ consumeWith }, { makeWarmupHandler }] = await Promise.all([
        import('./workers.ts'),
        import('./warmup.ts'),
      ])
      stop.addEventListener('abort', onStop, { once: true })
      return consumeWith(app, [await makeWarmupHandler(app)], {
        kind: 'consumer',
        transports: ['async'],
        stop,
        onEvent: (event) => {
          if ('error' in event) onMessage(event.error)
        },
      }).finally(() => stop.removeEventListener('abort', onStop))
    },
  }
}
