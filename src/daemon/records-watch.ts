import type { App } from '../app.ts'
import type { Log } from './log.ts'

/** How often it is looked whether the records are still there, in milliseconds. */
const lookEvery = 250

/** Says in the log when the records are deleted or replaced under the daemon, and when they are back; what comes back ends the watch. */
export function watchRecords(app: () => App, log: Log): () => void {
  let told: string | null = null
  const look = async () => {
    const fault = await app().recordsFault()
    if ((fault?.message ?? null) === told) return
    told = fault?.message ?? null
    if (fault !== null)
      log.error(
        `The records are lost: purges, warmups, events and changes of clients are refused until they are back. ${fault.hint}`,
        fault,
      )
    else log.info('The records are back.')
  }
  const timer = setInterval(() => void look(), lookEvery)
  timer.unref()
  return () => clearInterval(timer)
}
