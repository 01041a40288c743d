import { hourLength } from '../../lib/moment.ts'
import { tasksOf } from '../../workers/tasks.ts'
import { attempt, passed, warned, type Check } from './finding.ts'
import { recordsExist } from './storage-checks.ts'

/** A busy worker may start a task late, but not this late, in ms. */
const overdueAfter = 3 * hourLength

/** Finds tasks that failed or are overdue. */
export const checkTasks: Check = async (app) => {
  if (!(await recordsExist(app))) return []
  return attempt('scheduled tasks', async () => {
    const { readTasks } = await import('../../schedule/scheduled-tasks.ts')
    const now = Date.now()
    const rows = await readTasks(await app.records(), tasksOf(app), now)
    const findings = rows.flatMap(({ name, status, error, next_execution_at: next }) => {
      if (status === 'failed')
        return [
          warned(
            'scheduled tasks',
            `${name} failed: ${error ?? 'unknown reason'}`,
            'It runs again next night; pagecache scheduled-task:run-single runs it now.',
          ),
        ]
      if (status === 'inactive' || status === 'running' || next > now - overdueAfter) return []
      return [
        warned(
          'scheduled tasks',
          `${name} is overdue since ${new Date(next).toISOString()}`,
          'Start the daemon without --no-workers, or pagecache messenger:consume scheduler.',
        ),
      ]
    })
    return findings.length > 0 ? findings : [passed('scheduled tasks', 'none failed or overdue')]
  })
}
