import type { Timing } from '../lib/timing.ts'
import type { ConsumeEvent } from './consume-event.ts'
import { hasEnded, thisProcess } from '../lib/process-identity.ts'
import type { Membership } from './queue.ts'
import { SilenceDetector } from './silence.ts'

/** How often a worker checks the others (milliseconds): a dead process on this machine is noticed within this time. */
const checkInterval = 1000
const beatInterval = 5000
/** A round that is this late or takes this long means that this process was suspended or the records were locked (milliseconds). */
const lateAfter = 3000

export interface KeepOptions {
  membership: Membership
  timing: Timing
  /** Aborted when the membership ends. */
  done: AbortSignal
  onLost(): void
  onStopping(): void
  /** Called after each attempt that failed. @throws the error unless the records are unavailable */
  onUnavailable(error: unknown): void
  onEvent(event: ConsumeEvent): void
}

/**
 * Keeps a worker's membership alive: sends its heartbeat, notices when it is asked to stop or was considered dead, and takes over the
 * messages of dead workers.
 */
export async function keepMembership(options: KeepOptions): Promise<void> {
  const { membership, timing, done, onEvent } = options
  const self = thisProcess()
  const silence = new SilenceDetector()
  let beatAt = timing.now()
  let roundAt = timing.now()
  const round = async (): Promise<boolean> => {
    const now = timing.now()
    if (now - roundAt > checkInterval + lateAfter) silence.forget()
    roundAt = now
    if (now - beatAt >= beatInterval) {
      const alive = await membership.beat()
      if (!alive) return false
      if (timing.now() - now > lateAfter) silence.forget()
      beatAt = now
    }
    const workers = await membership.listWorkers()
    const own = workers.find(({ id }) => id === membership.id)
    if (!own) return false
    if (own.stopping) options.onStopping()
    const others = workers.filter((worker) => worker !== own)
    const silent = silence.observe(others, timing.now())
    const dead = others.filter(({ id, process }) => silent.includes(id) || hasEnded(process, self))
    for (const worker of dead) if (await membership.takeOver(worker)) onEvent({ kind: 'buried', worker })
    return true
  }
  while (!done.aborted) {
    try {
      if (await round()) {
        await timing.sleep(checkInterval, done)
        continue
      }
      onEvent({ kind: 'taken-over' })
      return options.onLost()
    } catch (error) {
      options.onUnavailable(error)
      silence.forget()
      await timing.sleep(checkInterval, done)
    }
  }
}
