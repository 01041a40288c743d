import type { Timing } from '../lib/timing.ts'
import type { ConsumeEvent } from './consume-event.ts'
import { hasEnded, thisProcess } from './process-identity.ts'
import type { Membership } from './queue.ts'
import { Silence } from './silence.ts'
import { isRecordsTrouble } from './trouble.ts'

/** A dead process on this machine is noticed within this time (milliseconds). */
const lookEvery = 1000
const beatEvery = 5000
/** A round that began so late, or took so long, says that we were stopped or the records locked (milliseconds). */
const lateAfter = 3000

export interface KeepOptions {
  membership: Membership
  timing: Timing
  /** Aborted when there is nothing to keep any more. */
  done: AbortSignal
  onLost(): void
  onStopping(): void
  onEvent(event: ConsumeEvent): void
}

/** Beats for a worker, notices when it is asked to stop or was taken for dead, and takes over what dead workers held. */
export async function keepMembership(options: KeepOptions): Promise<void> {
  const { membership, timing, done, onEvent } = options
  const self = thisProcess()
  const silence = new Silence()
  let beatAt = timing.now()
  let roundAt = timing.now()
  const round = async (): Promise<boolean> => {
    const now = timing.now()
    if (now - roundAt > lookEvery + lateAfter) silence.forget()
    roundAt = now
    if (now - beatAt >= beatEvery) {
      const alive = await membership.beat()
      if (!alive) return false
      if (timing.now() - now > lateAfter) silence.forget()
      beatAt = now
    }
    const workers = await membership.look()
    const own = workers.find(({ id }) => id === membership.id)
    if (!own) return false
    if (own.stopping) options.onStopping()
    const others = workers.filter((worker) => worker !== own)
    const silent = silence.observe(others, timing.now())
    for (const worker of others) {
      if (silent.includes(worker.id) || hasEnded(worker.process, self)) await membership.takeOver(worker)
    }
    return true
  }
  while (!done.aborted) {
    try {
      if (await round()) {
        await timing.sleep(lookEvery, done)
        continue
      }
      onEvent({ kind: 'taken-over' })
      return options.onLost()
    } catch (error) {
      if (!isRecordsTrouble(error)) throw error
      silence.forget()
      onEvent({ kind: 'trouble', error: error.message })
      await timing.sleep(lookEvery, done)
    }
  }
}
