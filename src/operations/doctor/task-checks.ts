import { tasksOf } from '../../workers/tasks.ts'
import { failed, passed, warned, type Check } from './finding.ts'
import { recordsExist } from './storage-checks.ts'

/** So long after its time a task should have run, whatever else there was to do (milliseconds). */
const overdueAfter = 3 * 3_600_000

/** Tasks that failed, and tasks that should have run and did not. */
export const checkTasks: Check = async (app) => {
  if (!(await recordsExist(app))) return []
  try {
    const { readTasks } = await import('../../schedule/scheduled-tasks.ts')
    const now = Date.now()
    const rows = await readTasks(await app.records(), tasksOf(app), now)
    const findings = rows.flatMap(({ name, status, error, next_execution_at: next }) => {
      if (status === 'failed')
        return [
          warned(
            'scheduled tasks',
            `${name} failed: ${error ?? 'no reason is known'}`,
            'It runs again in the next night; pagecache scheduled-task:run-single runs it now.',
          ),
        ]
      if (status === 'inactive' || status === 'running' || next > now - overdueAfter) return []
      return [
        warned(
          'scheduled tasks',
          `${name} should have run at ${new Date(next).toISOString()}`,
          'Start the daemon without --no-workers, or pagecache messenger:consume scheduler.',
        ),
      ]
    })
    return findings.length > 0 ? findings : [passed('scheduled tasks', 'none failed, none is overdue')]
  } catch (error) {
    return [
      failed(
        'scheduled tasks',
        (error as Error).message,
        'The message names what is in the way; mend that, and run pagecache doctor again.',
      ),
    ]
  }
}
