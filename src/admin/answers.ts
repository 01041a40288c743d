/** The values of the API's operations. Types only: no operation is bundled for the browser. */
import type { Statistics as StatisticsValue, listPages } from '../operations/cache.ts'
import type { listNodes } from '../operations/cluster.ts'
import type { showConfig } from '../operations/config.ts'
import type { inspectPage } from '../operations/inspect.ts'
import type { listFailedMessages, MessengerStatistics, showFailedMessage } from '../operations/messenger.ts'
import type { purgeStatistics, PurgeItemValue, recentInvalidations } from '../operations/purge-log.ts'
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
export type PageItem = ValueOf<typeof listPages>['items'][number]
export type Inspection = ValueOf<typeof inspectPage>
export type WarmupWatch = ValueOf<typeof watchWarmup>
export type WarmupProgress = NonNullable<WarmupWatch['progress']>
export type WarmupItem = ValueOf<typeof listWarmups>['items'][number]
export type { WarmupFailures } from '../operations/warmup.ts'
export type WarmupFailure = ValueOf<typeof listWarmupFailures>['items'][number]
export type QueueStatistics = MessengerStatistics
export type ShownMessage = ValueOf<typeof showFailedMessage>
export type FailedMessage = ValueOf<typeof listFailedMessages>['items'][number]
export type ReverseProxyStatistics = ValueOf<typeof purgeStatistics>
export type { Purged } from '../operations/purge.ts'
export type PurgeItem = PurgeItemValue
export type InvalidationItem = ValueOf<typeof recentInvalidations>['items'][number]
export type ScheduledTasks = ValueOf<typeof listScheduledTasks>
export type Stage = StageValue
export type StageList = ValueOf<typeof listStages>
export type StageStatistics = StageStatisticsValue
export type StagePreview = StagePreviewValue
