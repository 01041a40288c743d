/** What the API answers, as the operations define it: types only, nothing of them comes into the browser. */
import type { Statistics as StatisticsValue, inspectPage, listPages } from '../operations/cache.ts'
import type { listFailedMessages, MessengerStatistics } from '../operations/messenger.ts'
import type { purgeStatistics, PurgeItemValue, recentInvalidations, recentPurges } from '../operations/purge-log.ts'
import type { listScheduledTasks } from '../operations/scheduled-task.ts'
import type { listStages, StageStatisticsValue, StageValue } from '../operations/stages.ts'
import type { listWarmupFailures, listWarmups } from '../operations/warmup.ts'
import type { watchWarmup } from '../operations/warmup-watch.ts'

type Answer<Operation extends { run(...given: never): Promise<unknown> }> = Awaited<ReturnType<Operation['run']>>

export type Statistics = StatisticsValue
export type PageList = Answer<typeof listPages>
export type Inspection = Answer<typeof inspectPage>
export type WarmupWatch = Answer<typeof watchWarmup>
export type WarmupProgress = NonNullable<WarmupWatch['progress']>
export type WarmupList = Answer<typeof listWarmups>
export type Failures = Answer<typeof listWarmupFailures>
export type QueueStatistics = MessengerStatistics
export type FailedMessages = Answer<typeof listFailedMessages>
export type ReverseProxyStatistics = Answer<typeof purgeStatistics>
export type PurgeItem = PurgeItemValue
export type PurgeList = Answer<typeof recentPurges>
export type InvalidationList = Answer<typeof recentInvalidations>
export type ScheduledTasks = Answer<typeof listScheduledTasks>
export type Stage = StageValue
export type StageList = Answer<typeof listStages>
export type StageStatistics = StageStatisticsValue
