/** The tables of the queue. Times are milliseconds since the epoch. */
export interface QueueTables {
  queue_messages: QueueMessageRow
  queue_workers: QueueWorkerRow
}

export interface QueueMessageRow {
  /** UUID v7. Messages of one dispatch have ids in the order of their list. */
  id: string
  transport: 'async' | 'scheduler' | 'failed'
  type: string
  /** JSON. */
  payload: string
  /** At most one worker holds messages of a group. */
  group: string | null
  /** At most one message with a key waits. */
  key: string | null
  /** When it may be taken; waiting messages are taken in the order of this column, then of their ids. */
  available_at: number
  /** How long it was put off when `available_at` was written: a time further away than this comes from another clock. */
  delay: number
  /** How often it was handled without success. */
  attempts: number
  /** How many workers died over it since it last made progress. */
  crashes: number
  /** Who works on it; results under another lease are refused. Null while it waits. */
  lease: string | null
  worker: string | null
  /** When it was last taken up. */
  taken_at: number | null
  created_at: number
  last_error: string | null
  /** Only on the transport `failed`, with the transport that it came from. */
  failed_at: number | null
  origin: 'async' | 'scheduler' | null
}

/** A process that takes messages; its leases hold for as long as it goes on beating. */
export interface QueueWorkerRow {
  id: string
  host: string
  /** What names a process of this machine for ever: boot, process id namespace, process id, start time in clock ticks since boot. Null where the system does not tell. */
  boot_id: string | null
  pid_namespace: string | null
  pid: number
  process_started: string | null
  /** `serve` keeps its workers when consumers are asked to stop. */
  kind: 'consumer' | 'daemon'
  /** JSON list. */
  transports: string
  /** JSON list of the message types that it has a handler for. */
  types: string
  started_at: number
  seen_at: number
  /** Counts up while the worker lives; others judge by its standing still, never by a clock of another process. */
  beat: number
  /** 1: finish what is in hand and leave. */
  stopping: number
}
