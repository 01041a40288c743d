import type { Migration } from '../migrate.ts'
import { warmup } from './0001-warmup.ts'
import { queue } from './0002-queue.ts'
import { purges } from './0003-purges.ts'
import { tasks } from './0004-tasks.ts'
import { clients } from './0005-clients.ts'
import { stages } from './0006-stages.ts'
import { warmupLive } from './0007-warmup-live.ts'
import { deliveries } from './0008-deliveries.ts'
import { channelIds } from './0009-channel-ids.ts'
import { clientMakers } from './0010-client-makers.ts'
import { deliveriesApart } from './0011-deliveries-apart.ts'
import { appendOnlyEvents } from './0012-append-only-events.ts'
import { traffic } from './0013-traffic.ts'
import { adminSessions } from './0014-admin-sessions.ts'
import { notifications } from './0015-notifications.ts'
import { stageLooks } from './0016-stage-looks.ts'
import { signingKeys } from './0017-signing-keys.ts'
import { warmupConcurrency } from './0018-warmup-concurrency.ts'
import { clusterSecrets } from './0019-cluster-secrets.ts'
import { purgeClock } from './0020-purge-clock.ts'
import { restoredDatabases } from './0021-restored-databases.ts'
import { clusterNodes } from './0022-cluster-nodes.ts'

/** Append-only. A database's version is the number of steps that were run on it. */
export const migrations: readonly Migration[] = [
  warmup,
  queue,
  purges,
  tasks,
  clients,
  stages,
  warmupLive,
  deliveries,
  channelIds,
  clientMakers,
  deliveriesApart,
  appendOnlyEvents,
  traffic,
  adminSessions,
  notifications,
  stageLooks,
  signingKeys,
  warmupConcurrency,
  clusterSecrets,
  purgeClock,
  restoredDatabases,
  clusterNodes,
]
