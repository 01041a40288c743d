import type { Kysely, Transaction } from 'kysely'
import type { ClusterTables } from './cluster-rows.ts'
import type { DeliverTables } from './deliver-rows.ts'
import type { NotifyTables } from './notify-rows.ts'
import type { PurgeTables } from './purge-rows.ts'
import type { QueueTables } from './queue-rows.ts'
import type { StageTables } from './stage-rows.ts'
import type { TaskTables } from './task-rows.ts'
import type { TrafficTables } from './traffic-rows.ts'
import type { AdminSessionRow, ApiClientRow, SigningKeyRow } from './api-rows.ts'
import type { WarmupLiveRow, WarmupOriginRow, WarmupPurgedRow } from './warm-rows.ts'

/**
 * The current tables. Times are milliseconds since the epoch, flags are 0 and 1. Only the room that owns a table queries it; the owners are
 * listed in test/contract/tables.test.ts.
 */
export interface RecordsSchema
  extends ClusterTables, DeliverTables, NotifyTables, PurgeTables, QueueTables, StageTables, TaskTables, TrafficTables {
  warmup_runs: WarmupRunRow
  warmup_batches: WarmupBatchRow
  warmup_failures: WarmupFailureRow
  warmup_live: WarmupLiveRow
  api_clients: ApiClientRow
  admin_sessions: AdminSessionRow
  signing_keys: SigningKeyRow
  warmup_origins: WarmupOriginRow
  warmup_purged: WarmupPurgedRow
  sqlite_sequence: SequenceRow
}

/** SQLite's table of the last row number of each table with AUTOINCREMENT. */
interface SequenceRow {
  name: string
  seq: number
}

/** The records or a transaction. */
export type RecordsDatabase = Kysely<RecordsSchema>
export type RecordsTransaction = Transaction<RecordsSchema>

export type WarmupStatus = 'running' | 'paused' | 'completed' | 'cancelled' | 'failed'

export interface WarmupRunRow {
  id: string
  status: WarmupStatus
  sales_channel_id: string | null
  batch_size: number
  force: number
  /** Concurrent requests per origin, as set for this run; null: as configured. */
  concurrency: number | null
  total_urls: number
  checked_urls: number
  processed_urls: number
  skipped_urls: number
  failed_urls: number
  /** Over all workers, as measured by the worker that last saved progress. */
  urls_per_second: number
  message: string | null
  /** The result of discovery, as JSON. */
  discovery: string
  created_at: number
  updated_at: number
  finished_at: number | null
  paused_at: number | null
  /** Duration of earlier pauses (milliseconds). */
  paused_for: number
}

export interface WarmupBatchRow {
  run_id: string
  number: number
  sales_channel_id: string
  /** JSON list of absolute URLs. */
  urls: string
  size: number
  /** One bit for each URL that a worker has started (`taken`) or finished (`done`); base64, lowest bit first. */
  taken: string
  done: string
  /** How often workers have taken it since a URL was last finished: it limits retries of a page that kills its worker. */
  openings: number
  finished_at: number | null
}

interface WarmupFailureRow {
  id: string
  run_id: string
  url: string
  /** Index of the configured variant that failed. */
  variant: number
  status: number | null
  error: string
  attempts: number
  at: number
}
