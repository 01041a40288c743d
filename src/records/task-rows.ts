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
  /** What it did when it last ran, in words. */
  result: string | null
  /** Why it last failed; null when it has succeeded since. */
  error: string | null
  updated_at: number
}
