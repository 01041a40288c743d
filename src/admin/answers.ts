/** What the API answers, as the operations define it: types only, nothing of them comes into the browser. */
import type { output } from 'zod/mini'
import type { Statistics as StatisticsValue, inspectPage, listPages } from '../operations/cache.ts'
import type { listFailedMessages, MessengerStatistics } from '../operations/messenger.ts'
import type { purgeStatistics, PurgeItemValue, recentInvalidations, recentPurges } from '../operations/purge-log.ts'
import type { listScheduledTasks } from '../operations/scheduled-task.ts'
import type { listStages, StageStatisticsValue, StageValue } from '../operations/stages.ts'
import type { listWarmupFailures, listWarmups } from '../operations/warmup.ts'
import type { watchWarmup } from '../operations/warmup-watch.ts'

export type Statistics = StatisticsValue
export type PageList = output<typeof listPages.output>
export type Inspection = output<typeof inspectPage.output>
export type WarmupWatch = output<typeof watchWarmup.output>
export type WarmupProgress = NonNullable<WarmupWatch['progress']>
export type WarmupList = output<typeof listWarmups.output>
export type Failures = output<typeof listWarmupFailures.output>
export type QueueStatistics = MessengerStatistics
export type FailedMessages = output<typeof listFailedMessages.output>
export type ReverseProxyStatistics = output<typeof purgeStatistics.output>
export type PurgeItem = PurgeItemValue
export type PurgeList = output<typeof recentPurges.output>
export type InvalidationList = output<typeof recentInvalidations.output>
export type ScheduledTasks = output<typeof listScheduledTasks.output>
export type Stage = StageValue
export type StageList = output<typeof listStages.output>
export type StageStatistics = StageStatisticsValue
