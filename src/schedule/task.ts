/** What a task is run with. */
export interface TaskRun {
  /** Aborted when the task should come back soon; it is continued later. */
  stop: AbortSignal
}

/** What a run of a task came to. */
export interface TaskEnd {
  /** False where it was stopped before its end. */
  done: boolean
  /** What it did, in words for the list of tasks. */
  result: string
}

/** Something that is done again and again. What it does may be done twice, and may be stopped anywhere. */
export interface Task {
  name: string
  /** Milliseconds. */
  runInterval: number
  /** The first execution after a moment (both in milliseconds since the epoch). */
  nextAfter(now: number): number
  /** False where there is nothing that it could do: this time is skipped. */
  shouldRun?(): Promise<boolean>
  run(run: TaskRun): Promise<TaskEnd>
}

const day = 86_400_000
/** Two in the morning, UTC: the small hours of the shops of Europe. */
const nightAt = 2 * 3_600_000

/** A task that runs once a night. */
export function nightly(task: Pick<Task, 'name' | 'shouldRun' | 'run'>): Task {
  return { ...task, runInterval: day, nextAfter: nextNight }
}

/** The next two o'clock, UTC, after a moment (milliseconds since the epoch). */
export function nextNight(now: number): number {
  return Math.floor((now - nightAt) / day + 1) * day + nightAt
}
