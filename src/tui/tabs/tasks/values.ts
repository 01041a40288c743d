import type { listScheduledTasks } from '../../../operations/scheduled-task.ts'

/** What `scheduled-task.list` answers. */
export type ScheduledTasks = Awaited<ReturnType<typeof listScheduledTasks.run>>
export type ScheduledTask = ScheduledTasks['items'][number]
