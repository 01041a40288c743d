/** The values of the API's operations. Types only: no operation is bundled for the browser. */
import type { Statistics as StatisticsValue, listPages } from '../operations/cache.ts'
import type { listNodes } from '../operations/cluster.ts'
import type { showConfig } from '../operations/config.ts'
import type { inspectPage } from '../operations/inspect.ts'
import type { listFailedMessages, MessengerStatistics } from '../operations/messenger.ts'
import type { purgeStatistics, PurgeItemValue, recentInvalidations, recentPurges } from '../operations/purge-log.ts'
import type { ValueOf } from '../operations/operation.ts'
import type { listScheduledTasks } from '../operations/scheduled-task.ts'
import type { listStages, StagePreviewValue, StageStatisticsValue, StageValue } from '../operations/stages.ts'
import type { listWarmupFailures, listWarmups } from '../operations/warmup.ts'
import type { readTraffic } from '../operations/traffic.ts'
import type { watchWarmup } from '../operations/warmup-watch.ts'

export type Statistics = StatisticsValue
export type NodeList = ValueOf<typeof listNodes>
export type ConfigValues = ValueOf<typeof showConfig>
export type Traffic = ValueOf<typeof readTraffic>
export type PageList = ValueOf<typeof listPages>
export type Inspection = ValueOf<typeof inspectPage>
export type WarmupWatch = ValueOf<typeof watchWarmup>
export type WarmupProgress = NonNullable<WarmupWatch['progress']>
export type WarmupList = ValueOf<typeof listWarmups>
export type Failures = ValueOf<typeof listWarmupFailures>
export type QueueStatistics = MessengerStatistics
export type FailedMessages = ValueOf<typeof listFailedMessages>
export type ReverseProxyStatistics = ValueOf<typeof purgeStatistics>
export type { Purged } from '../operations/purge.ts'
export type PurgeItem = PurgeItemValue
export type PurgeList = ValueOf<typeof recentPurges>
export type InvalidationList = ValueOf<typeof recentInvalidations>
export type ScheduledTasks = ValueOf<typeof listScheduledTasks>
export type Stage = StageValue
export type StageList = ValueOf<typeof listStages>
export type StageStatistics = StageStatisticsValue
export type StagePreview = StagePreviewValue
