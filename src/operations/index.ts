import * as cache from './cache.ts'
import * as clients from './clients.ts'
import { forgetNode, listNodes } from './cluster.ts'
import * as config from './config.ts'
import { doctor } from './doctor.ts'
import { initProject } from './init.ts'
import { inspectPage } from './inspect.ts'
import * as messenger from './messenger.ts'
import { testNotifications } from './notify.ts'
import * as scheduledTask from './scheduled-task.ts'
import type { Operation } from './operation.ts'
import { useProfile } from './profiles.ts'
import * as stages from './stages.ts'
import { purge } from './purge.ts'
import { readStatus } from './status.ts'
import * as traffic from './traffic.ts'
import { liveTraffic } from './traffic-live.ts'
import * as purgeLog from './purge-log.ts'
import * as records from './records.ts'
import * as warmup from './warmup.ts'
import { startWarmup } from './warmup-start.ts'
import { watchWarmup } from './warmup-watch.ts'

/** All operations. The HTTP API, the remote client and the OpenAPI document are derived from this list. */
export const operations: readonly Operation[] = [
  cache.cacheStatistics,
  cache.clearPages,
  cache.clearPagesByType,
  cache.clearApplicationCache,
  cache.listPages,
  cache.listTags,
  inspectPage,
  traffic.readTraffic,
  liveTraffic,
  clients.createApiClient,
  clients.listApiClients,
  clients.revokeApiClient,
  clients.rotateSigningKey,
  testNotifications,
  listNodes,
  forgetNode,
  purge,
  purgeLog.purgeStatistics,
  purgeLog.recentPurges,
  purgeLog.purgedUrls,
  purgeLog.urlFlow,
  purgeLog.entityTimeline,
  purgeLog.clearPurgeLog,
  purgeLog.recentInvalidations,
  purgeLog.clearInvalidationLog,
  config.showConfig,
  config.findConfig,
  config.validateConfig,
  config.reloadConfig,
  doctor,
  readStatus,
  initProject,
  records.copyRecords,
  records.migrateRecords,
  useProfile,
  startWarmup,
  warmup.readWarmupProgress,
  warmup.pauseWarmup,
  warmup.resumeWarmup,
  warmup.cancelWarmup,
  warmup.changeWarmupConcurrency,
  warmup.listWarmups,
  warmup.listWarmupFailures,
  watchWarmup,
  messenger.messengerStatistics,
  messenger.consumeMessages,
  messenger.stopWorkers,
  messenger.listFailedMessages,
  messenger.showFailedMessage,
  messenger.retryFailedMessages,
  messenger.removeFailedMessages,
  scheduledTask.listScheduledTasks,
  scheduledTask.scheduleTaskOnce,
  scheduledTask.deactivateScheduledTask,
  scheduledTask.runSingleTask,
  scheduledTask.queueDueTasks,
  scheduledTask.runScheduledTasks,
  stages.createStage,
  stages.listStages,
  stages.showStage,
  stages.updateStage,
  stages.duplicateStage,
  stages.previewStage,
  stages.deleteStage,
  stages.stageStatistics,
  stages.deleteCustomer,
]
