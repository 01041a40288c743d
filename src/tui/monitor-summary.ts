import { setTimeout as sleep } from 'node:timers/promises'
import { plural } from '../lib/format.ts'
import type { Statistics } from '../operations/cache.ts'
import type { MessengerStatistics } from '../operations/messenger.ts'
import type { ScheduledTasks } from '../operations/scheduled-task.ts'
import type { Traffic } from '../operations/traffic.ts'
import type { Tab } from './tab.ts'
import { liveTab } from './tabs/live/tab.ts'
import { overviewTab } from './tabs/overview/tab.ts'
import { visitorsInShort } from './tabs/overview/visitors.ts'
import { purgesInShort, purgesTab } from './tabs/purges/tab.ts'
import type { PurgeStatistics } from './tabs/purges/values.ts'
import { queueInShort, queueTab } from './tabs/queue/tab.ts'
import type { Feeds } from './poller.ts'
import type { Source } from './source.ts'
import { tasksInShort, tasksTab } from './tabs/tasks/tab.ts'
import { shortProgress } from './tabs/warmup/progress-block.ts'
import { warmupTab } from './tabs/warmup/tab.ts'
import type { Watched } from './tabs/warmup/watched.ts'

/** The tabs of `monitor`, from left to right. */
export const monitorTabs: readonly Tab[] = [overviewTab, warmupTab(null), purgesTab, queueTab, tasksTab, liveTab()]

/** The values of the operations that the monitor looks at. */
export interface SystemState {
  /** Visitors of the last hour and day. */
  hour: Traffic
  day: Traffic
  cache: Statistics
  warmup: Watched
  purges: PurgeStatistics
  queue: MessengerStatistics
  tasks: ScheduledTasks
}

const parts: Readonly<Record<keyof SystemState, readonly [operation: string, input: object]>> = {
  hour: ['traffic.read', { last: '1h' }],
  day: ['traffic.read', { last: '24h' }],
  cache: ['cache.stats', {}],
  warmup: ['warmup.watch', {}],
  purges: ['purgeLog.stats', {}],
  queue: ['messenger.stats', {}],
  tasks: ['scheduled-task.list', {}],
}

/** Reads everything once. */
export async function readAll(source: Source): Promise<SystemState> {
  const values = await Promise.all(
    Object.entries(parts).map(
      async ([name, [operation, input]]) => [name, await source.perform(operation, input)] as const,
    ),
  )
  return Object.fromEntries(values) as unknown as SystemState
}

/**
 * Reads everything once more when the operator leaves the screen, because values of tabs in the background may be old. A
 * value that does not arrive within `timeout` milliseconds is replaced by the last one on screen.
 */
export async function readLast(source: Source, feeds: Feeds, within: number): Promise<Partial<SystemState>> {
  const latest = await Promise.race([readAll(source).catch(() => null), sleep(within, null, { ref: false })])
  return (
    latest ??
    (Object.fromEntries(Object.entries(feeds).map(([name, { value }]) => [name, value])) as Partial<SystemState>)
  )
}

/** One sentence for each part whose value is known. */
export function monitorSummary({ hour, day, cache, warmup, purges, queue, tasks }: Partial<SystemState>): string[] {
  return [
    ...(hour && day ? [`visitors: ${visitorsInShort(hour, day)}`] : []),
    ...(cache ? [`cache: ${plural(cache.totalFiles, 'page')}, ${cache.totalSizeFormatted}`] : []),
    ...(warmup ? [`warmup: ${warmup.progress ? shortProgress(warmup.progress, warmup.live) : 'none yet'}`] : []),
    ...(purges ? [`purges: ${purgesInShort(purges)}`] : []),
    ...(queue ? [`queue: ${queueInShort(queue)}`] : []),
    ...(tasks ? [`tasks: ${tasksInShort(tasks)}`] : []),
  ]
}

const lineEvery = 10_000
const lineEveryPercent = 5

/** Whether a line is due: the first one, every ten seconds, every five percent of a warmup, and at its end. */
export function isDueLine(
  printed: { state: SystemState; at: number } | null,
  state: SystemState,
  now: number,
): boolean {
  if (printed === null || now - printed.at >= lineEvery) return true
  const [before, after] = [printed.state.warmup.progress, state.warmup.progress]
  if (after === null) return false
  const step = (percentage: number) => Math.floor(percentage / lineEveryPercent)
  return before?.id !== after.id || before.status !== after.status || step(before.percentage) !== step(after.percentage)
}
