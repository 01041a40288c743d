import type { FailedMessages, QueueStatistics } from './answers.ts'
import { formatCount, formatTime } from './format.ts'
import { Act, Confirm, Figure, Known, Panel, Table } from './parts.tsx'
import { useApi } from './api-context.ts'
import { Tasks } from './tasks.tsx'
import { useResource } from './use-resource.ts'

export function QueueView() {
  const statistics = useResource<QueueStatistics>('vendor-cache/messenger/stats', {}, 2000)
  const failed = useResource<FailedMessages>('vendor-cache/messenger/failed', { limit: 50 }, 5000)
  const refresh = () => {
    statistics.refresh()
    failed.refresh()
  }
  return (
    <>
      <Panel title="Messages">
        <Known of={statistics}>
          {({ transports, workers }) => (
            <>
              <dl class="figures">
                {transports.map(({ name, count, held, oldestAge }) => (
                  <Figure
                    key={name}
                    name={name}
                    value={formatCount(count)}
                    note={
                      oldestAge === null
                        ? `${held} in progress`
                        : `${held} in hand, the oldest waits ${oldestAge.toFixed(1)} s`
                    }
                  />
                ))}
              </dl>
              <Table
                caption="Workers"
                head={['Worker', 'Transports', 'Since', 'In progress']}
                rows={workers.map((worker) => [
                  `${worker.kind} ${worker.pid} on ${worker.host}`,
                  worker.transports.join(', '),
                  formatTime(worker.startedAt),
                  worker.current.map(({ type, group }) => (group ? `${type} (${group})` : type)).join(', ') || '–',
                ])}
                empty="No workers. Start serve or messenger:consume."
              />
            </>
          )}
        </Known>
      </Panel>
      <Panel title="Failed messages">
        <Known of={failed}>{({ items, total }) => <Failed items={items} total={total} onMoved={refresh} />}</Known>
      </Panel>
      <Tasks />
    </>
  )
}

function Failed({ items, total, onMoved }: { items: FailedMessages['items']; total: number; onMoved(): void }) {
  const api = useApi()
  const move = (to: 'retry' | 'remove', ids: readonly string[] | null) => async () => {
    const done = await api.post<{ retried?: number; removed?: number }>(`vendor-cache/messenger/failed/${to}`, { ids })
    onMoved()
    return `${formatCount(done.retried ?? done.removed ?? 0)} ${to === 'retry' ? 'put back' : 'removed'}.`
  }
  return (
    <>
      <Table
        caption="Failed messages"
        head={['Failed at', 'Message', 'Error', 'Attempts', '']}
        rows={items.map((message) => [
          formatTime(message.failedAt),
          message.type,
          message.error,
          message.attempts,
          <Act label="Retry" act={move('retry', [message.id])} />,
        ])}
        empty="None."
      />
      {total > 0 ? (
        <div class="row">
          <Act label={`Retry all ${formatCount(total)}`} act={move('retry', null)} />
          <Confirm
            label={`Remove all ${formatCount(total)}`}
            question="The work of these messages will not be done."
            act={move('remove', null)}
          />
        </div>
      ) : null}
    </>
  )
}
