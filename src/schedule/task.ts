import { dayLength, hourLength } from '../lib/moment.ts'

/** The arguments of one run of a task. */
export interface TaskRun {
  /** Aborted when the task should return soon; it continues in a later run. */
  stop: AbortSignal
}

/** The result of one run. */
export interface TaskEnd {
  /** False if it was stopped early. */
  done: boolean
  /** What it did, as text for the list of tasks. */
  result: string
}

/** A recurring task. A run may be repeated and may be stopped at any point. */
export interface Task {
  name: string
  /** Milliseconds. */
  runInterval: number
  /** The first execution after `now`; both in milliseconds since the epoch. */
  nextAfter(now: number): number
  /** False if the task has nothing to do: this execution is skipped. */
  shouldRun?(): Promise<boolean>
  run(run: TaskRun): Promise<TaskEnd>
}

/** 02:00 UTC: night-time for shops in Europe. */
const nightAt = 2 * hourLength

/** A task that runs once a night. */
export function nightly(task: Pick<Task, 'name' | 'shouldRun' | 'run'>): Task {
  return { ...task, runInterval: dayLength, nextAfter: nextNight }
}

/** The next 02:00 UTC after `now`; both in milliseconds since the epoch. */
export function nextNight(now: number): number {
  return Math.floor((now - nightAt) / dayLength + 1) * dayLength + nightAt
}
