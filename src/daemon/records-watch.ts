import type { App } from '../app.ts'
import type { Log } from './log.ts'

/** Milliseconds between two checks. */
const interval = 250

/** Logs when the records are deleted or replaced under the running daemon, and when they are back. Returns a function that stops the watch. */
export function watchRecords(app: () => App, log: Log): () => void {
  let reported: string | null = null
  const check = () => {
    const fault = app().recordsFault()
    if ((fault?.message ?? null) === reported) return
    reported = fault?.message ?? null
    if (fault !== null)
      log.error(
        `The records are lost. Purges, warmups, events and client changes are refused until they are back. ${fault.hint}`,
        fault,
      )
    else log.info('The records are back.')
  }
  const timer = setInterval(check, interval)
  timer.unref()
  return () => clearInterval(timer)
}
