/** The tables of the queue. Times are milliseconds since the epoch. */
export interface QueueTables {
  queue_messages: QueueMessageRow
  queue_workers: QueueWorkerRow
}

export interface QueueMessageRow {
  /** UUID v7. Messages of one dispatch have ascending ids. */
  id: string
  transport: 'async' | 'scheduler' | 'failed'
  type: string
  /** JSON. */
  payload: string
  /** At most one worker at a time holds messages of a group. */
  group: string | null
  /** At most one message with a given key waits. */
  key: string | null
  /** When it is due; messages are taken in the order of this column, then of their ids. */
  available_at: number
  /** The delay from which `available_at` was computed: a due time further away than this comes from a clock that was ahead. */
  delay: number
  /** Failed attempts. */
  attempts: number
  /** Workers that died while handling it since it last made progress. */
  crashes: number
  /** Identifies the current hold; results under another lease are refused. Null while it waits. */
  lease: string | null
  worker: string | null
  /** When a worker last took it. */
  taken_at: number | null
  created_at: number
  last_error: string | null
  /** Set only on the transport `failed`; `origin` is the transport on which it failed. */
  failed_at: number | null
  origin: 'async' | 'scheduler' | null
}

/** A worker. Its leases are valid for as long as it sends heartbeats. */
export interface QueueWorkerRow {
  id: string
  host: string
  /** These four columns identify a process permanently (src/lib/process-identity.ts). Null without /proc. */
  boot_id: string | null
  pid_namespace: string | null
  pid: number
  process_started: string | null
  /** The workers of a `daemon` are not stopped with the consumers. */
  kind: 'consumer' | 'daemon'
  /** JSON list. */
  transports: string
  /** JSON list of the message types that it handles. */
  types: string
  started_at: number
  seen_at: number
  /** Heartbeat: counts up while the worker is alive. Others watch whether it stands still and compare no clocks. */
  beat: number
  /** 1: the worker finishes the messages in hand and leaves. */
  stopping: number
}
