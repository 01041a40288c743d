export interface TaskTables {
  scheduled_tasks: ScheduledTaskRow
}

type TaskStatus = 'scheduled' | 'queued' | 'running' | 'failed' | 'skipped' | 'inactive'

/** Times are milliseconds since the epoch. */
export interface ScheduledTaskRow {
  name: string
  /** Milliseconds. */
  run_interval: number
  status: TaskStatus
  last_execution_at: number | null
  next_execution_at: number
  /** What the last run did, as text. */
  result: string | null
  /** The error of the last run; null if it succeeded. */
  error: string | null
  updated_at: number
}
