import type { Kysely, Transaction } from 'kysely'
import type { DeliverTables } from './deliver-rows.ts'
import type { PurgeTables } from './purge-rows.ts'
import type { QueueTables } from './queue-rows.ts'
import type { StageTables } from './stage-rows.ts'
import type { TaskTables } from './task-rows.ts'
import type { ApiClientRow } from './api-rows.ts'
import type { WarmupLiveRow, WarmupOriginRow, WarmupPurgedRow } from './warm-rows.ts'

/** The tables as the program knows them now. Times are milliseconds since the epoch, flags are 0 and 1. */
export interface RecordsSchema extends DeliverTables, PurgeTables, QueueTables, StageTables, TaskTables {
  warmup_runs: WarmupRunRow
  warmup_batches: WarmupBatchRow
  warmup_failures: WarmupFailureRow
  warmup_live: WarmupLiveRow
  api_clients: ApiClientRow
  warmup_origins: WarmupOriginRow
  warmup_purged: WarmupPurgedRow
  sqlite_sequence: SequenceRow
}

/** SQLite's own: the last number that a table with numbers that are never given again has given. */
interface SequenceRow {
  name: string
  seq: number
}

/** The records, or a transaction in them. */
export type RecordsDatabase = Kysely<RecordsSchema>
export type RecordsTransaction = Transaction<RecordsSchema>

export type WarmupStatus = 'running' | 'paused' | 'completed' | 'cancelled' | 'failed'

export interface WarmupRunRow {
  id: string
  status: WarmupStatus
  sales_channel_id: string | null
  batch_size: number
  force: number
  total_urls: number
  checked_urls: number
  processed_urls: number
  skipped_urls: number
  failed_urls: number
  /** As the worker that wrote last measured it over all workers. */
  urls_per_second: number
  message: string | null
  /** What discovery found and left out, as JSON. */
  discovery: string
  created_at: number
  updated_at: number
  finished_at: number | null
  /** Since when it is paused, and for how long it was before (milliseconds). */
  paused_at: number | null
  paused_for: number
}

export interface WarmupBatchRow {
  run_id: string
  number: number
  sales_channel_id: string
  /** JSON list of absolute URLs. */
  urls: string
  size: number
  /** One bit for each URL that was taken up, and that is done; base64, lowest bit first. */
  taken: string
  done: string
  /** How often a worker took it up since a URL of it was done: a page that ends its worker is not tried for ever. */
  openings: number
  finished_at: number | null
}

interface WarmupFailureRow {
  id: string
  run_id: string
  url: string
  /** Which configured variant failed, counted from 0. */
  variant: number
  status: number | null
  error: string
  attempts: number
  at: number
}
