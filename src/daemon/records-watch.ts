import type { App } from '../app.ts'
import type { PagecacheError } from '../errors.ts'
import type { Log } from './log.ts'

/** Milliseconds between two checks of a file, which take microseconds, and of a server. */
const intervals = { file: 500, server: 2000 }

/** Logs when the running daemon can no longer use its records, and when it can again. Returns a function that stops the watch. */
export function watchRecords(app: () => App, log: Log): () => void {
  let reported: string | null = null
  const report = (problem: PagecacheError | null) => {
    const code = problem?.code ?? null
    if (code === reported) return
    reported = code
    if (problem !== null)
      log.error(
        `The records cannot be used. Purges, warmups, events and client changes are refused until they can. ${problem.hint ?? ''}`,
        problem,
      )
    else log.info('The records can be used again.')
  }
  const isServer = app().config.records.url !== null
  const timer = setInterval(
    () => void app().recordsProblem().then(report),
    isServer ? intervals.server : intervals.file,
  )
  timer.unref()
  return () => clearInterval(timer)
}
