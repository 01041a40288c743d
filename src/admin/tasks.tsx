import type { ScheduledTasks } from './answers.ts'
import { formatTime } from './format.ts'
import { Act, Known, Panel, Table } from './parts.tsx'
import { useApi } from './api-context.ts'
import { useResource } from './use-resource.ts'

export function Tasks() {
  const api = useApi()
  const tasks = useResource<ScheduledTasks>('vendor-cache/scheduled-task/list', {}, 5000)
  const schedule = (name: string) => async () => {
    await api.post('vendor-cache/scheduled-task/schedule', { name, immediately: true })
    tasks.refresh()
    return 'Runs next.'
  }
  return (
    <Panel title="Scheduled tasks">
      <Known of={tasks}>
        {({ items }) => (
          <Table
            caption="Scheduled tasks"
            head={['Name', 'Next execution', 'Last execution', 'Status', 'Result', '']}
            rows={items.map((task) => [
              <code>{task.name}</code>,
              formatTime(task.nextExecution),
              formatTime(task.lastExecution),
              <span class={`badge ${task.status}`}>{task.status}</span>,
              task.error ?? task.result ?? '–',
              <Act label="Run now" act={schedule(task.name)} />,
            ])}
            empty="No tasks."
          />
        )}
      </Known>
    </Panel>
  )
}
