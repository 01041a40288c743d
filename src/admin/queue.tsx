import { useState } from 'preact/hooks'
import { Act, Confirm, Danger, DangerZone } from './actions.tsx'
import type { FailedMessages, QueueStatistics } from './answers.ts'
import { useApi } from './api-context.ts'
import { formatCount, formatCounted, formatSeconds } from './format.ts'
import { Figure, Known, Panel, Time } from './parts.tsx'
import { Pager, Table } from './table.tsx'
import { Tasks } from './tasks.tsx'
import { useResource } from './use-resource.ts'

const portion = 25

export function QueueView() {
  const [offset, setOffset] = useState(0)
  const statistics = useResource<QueueStatistics>('vendor-cache/messenger/stats', {}, 2000)
  const failed = useResource<FailedMessages>('vendor-cache/messenger/failed', { limit: portion, offset }, 5000)
  const refresh = () => {
    statistics.refresh()
    failed.refresh()
  }
  return (
    <>
      <Panel title="Messages">
        <Known of={statistics}>{(value) => <Messages value={value} />}</Known>
      </Panel>
      <Panel title="Failed messages">
        <Known of={failed}>
          {({ items, total }) => (
            <>
              <Failed items={items} total={total} onMoved={refresh} />
              <Pager offset={offset} portion={portion} total={total} set={setOffset} />
            </>
          )}
        </Known>
      </Panel>
      <Tasks />
      {failed.value === null || failed.value.total === 0 ? null : (
        <Removal total={failed.value.total} onRemoved={refresh} />
      )}
    </>
  )
}

function Messages({ value: { transports, workers } }: { value: QueueStatistics }) {
  return (
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
                : `${held} in progress, oldest waits ${formatSeconds(oldestAge)}`
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
          { by: worker.startedAt, shown: <Time at={worker.startedAt} /> },
          worker.current.map(({ type, group }) => (group ? `${type} (${group})` : type)).join(', ') || '–',
        ])}
        sort="here"
        empty="No workers. Start serve or messenger:consume."
      />
    </>
  )
}

interface FailedProps {
  items: FailedMessages['items']
  total: number
  onMoved(): void
}

function Failed({ items, total, onMoved }: FailedProps) {
  const api = useApi()
  const retry = (ids: readonly string[] | null) => async () => {
    const { retried } = await api.post<{ retried: number }>('vendor-cache/messenger/failed/retry', { ids })
    onMoved()
    return `${formatCounted(retried, 'message')} put back.`
  }
  return (
    <>
      <Table
        caption="Failed messages"
        head={['Failed at', 'Message', 'Error', 'Attempts', '']}
        rows={items.map((message) => [
          { by: message.failedAt, shown: <Time at={message.failedAt} /> },
          message.type,
          message.error,
          message.attempts,
          <Act label="Retry" name={`Retry ${message.type} ${message.id}`} act={retry([message.id])} />,
        ])}
        keys={items.map((message) => message.id)}
        sort={total > items.length ? undefined : 'here'}
        empty="No failed messages."
      />
      {total > 0 ? (
        <div class="row">
          <Act label={`Retry all ${formatCount(total)}`} act={retry(null)} />
        </div>
      ) : null}
    </>
  )
}

function Removal({ total, onRemoved }: { total: number; onRemoved(): void }) {
  const api = useApi()
  const remove = async () => {
    const { removed } = await api.post<{ removed: number }>('vendor-cache/messenger/failed/remove', { ids: null })
    onRemoved()
    return `${formatCounted(removed, 'message')} removed.`
  }
  return (
    <DangerZone>
      <Danger what="Remove the failed messages.">
        <Confirm
          label="Remove failed messages"
          title={`Remove ${formatCounted(total, 'failed message')}`}
          question="Their work will not be done."
          act={remove}
        />
      </Danger>
    </DangerZone>
  )
}
