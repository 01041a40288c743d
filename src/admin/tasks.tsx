import { Act } from './actions.tsx'
import type { ScheduledTasks } from './answers.ts'
import { useApi } from './api-context.ts'
import { Known, Panel, Time } from './parts.tsx'
import { Table } from './table.tsx'
import { Copy } from './url-actions.tsx'
import { useResource } from './use-resource.ts'

export function Tasks() {
  const api = useApi()
  const tasks = useResource<ScheduledTasks>('vendor-cache/scheduled-task/list', {}, 5000)
  const schedule = (name: string) => async () => {
    await api.post('vendor-cache/scheduled-task/schedule', { name, immediately: true })
    tasks.refresh()
    return `${name} runs next.`
  }
  return (
    <Panel title="Scheduled tasks">
      <Known of={tasks}>
        {({ items }) => (
          <Table
            caption="Scheduled tasks"
            head={['Name', 'Next execution', 'Last execution', 'Status', 'Result', '']}
            rows={items.map((task) => [
              { by: task.name, shown: <code>{task.name}</code> },
              { by: task.nextExecution, shown: <Time at={task.nextExecution} /> },
              { by: task.lastExecution, shown: <Time at={task.lastExecution} /> },
              { by: task.status, shown: <span class={`badge ${task.status}`}>{task.status}</span> },
              task.error ?? task.result ?? '–',
              <span class="row-actions">
                <Act label="Run now" name={`Run now: ${task.name}`} act={schedule(task.name)} />
                <Copy text={task.name} />
              </span>,
            ])}
            keys={items.map((task) => task.name)}
            sort="here"
            empty="No tasks."
          />
        )}
      </Known>
    </Panel>
  )
}
