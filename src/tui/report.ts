import type { Feeds } from './poller.ts'

/** The report that `s` writes: the latest value of every operation. */
export function toReport(name: string, feeds: Feeds, time: number): { file: string; content: string } {
  const at = new Date(time).toISOString()
  const values = Object.fromEntries(
    Object.entries(feeds).map(([feed, { value, error }]) => [
      feed,
      error === null ? value : { error, lastValue: value },
    ]),
  )
  return {
    file: `pagecache-report-${at.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}.json`,
    content: `${JSON.stringify({ at, source: name, ...values }, null, 2)}\n`,
  }
}
