import { formatDuration } from '../lib/format.ts'
import { printable } from '../lib/safe-text.ts'
import { Act, Confirm, Danger, DangerZone } from './actions.tsx'
import { Arriving } from './arriving.tsx'
import type { FailedMessage, QueueStatistics, ShownMessage } from './answers.ts'
import { useApi } from './api-context.ts'
import { formatCount, formatCounted } from './format.ts'
import { ListSearch, Pager, useList } from './list.tsx'
import { usePortion } from './log.tsx'
import { Figure, Known, Panel, Time } from './parts.tsx'
import { useRoute } from './route.ts'
import { Table } from './table.tsx'
import { Tasks } from './tasks.tsx'
import { Copy } from './url-actions.tsx'
import { useResource } from './use-resource.ts'

export function QueueView() {
  const { params } = useRoute()
  const list = useList('failed')
  const statistics = useResource<QueueStatistics>('vendor-cache/messenger/stats', {}, 2000)
  const failed = usePortion<FailedMessage>('vendor-cache/messenger/failed', list, 5000, { type: list.search })
  const refresh = () => {
    statistics.refresh()
    failed.refresh()
  }
  const all = statistics.value?.transports.find(({ name }) => name === 'failed')?.count ?? 0
  return (
    <>
      <Panel title="Messages">
        <Known of={statistics}>{(value) => <Messages value={value} />}</Known>
      </Panel>
      <Panel title="Failed messages">
        {params['message'] === undefined ? null : (
          <Arriving key={params['message']}>
            <Message id={params['message']} />
          </Arriving>
        )}
        {all > 1 || list.search !== '' ? <ListSearch list={list} label="Message type" /> : null}
        <Known of={failed}>
          {({ items, total }) => (
            <>
              <Failed items={items} total={total} search={list.search} onMoved={refresh} />
              <Pager list={list} total={total} />
            </>
          )}
        </Known>
      </Panel>
      <Tasks />
      {all === 0 ? null : <Removal total={all} onRemoved={refresh} />}
    </>
  )
}

/** A failed message with its payload. */
function Message({ id }: { id: string }) {
  const { change } = useRoute()
  const shown = useResource<ShownMessage>('vendor-cache/messenger/failed/show', { id }, 60_000)
  return (
    <section aria-label="Message">
      <Known of={shown}>
        {({ message }) => (
          <>
            <p>
              {message.type} for {message.transport}, created <Time at={message.createdAt} />,{' '}
              {formatCounted(message.attempts, 'attempt')}
            </p>
            <p>{message.error}</p>
            <pre tabIndex={0} role="region" aria-label="Payload">
              {printable(JSON.stringify(message.payload, null, 2))}
            </pre>
          </>
        )}
      </Known>
      <button type="button" onClick={() => change({ message: '' })}>
        Close message
      </button>
    </section>
  )
}

function noteOn(transport: string, held: number, oldestAge: number | null): string {
  const waits = oldestAge === null ? '' : `oldest waits ${formatDuration(oldestAge)}`
  // No worker processes failed messages.
  return [transport === 'failed' ? '' : `${held} in progress`, waits].filter(Boolean).join(', ')
}

function Messages({ value: { transports, workers } }: { value: QueueStatistics }) {
  return (
    <>
      <dl class="figures">
        {transports.map(({ name, count, held, oldestAge }) => (
          <Figure key={name} name={name} value={formatCount(count)} note={noteOn(name, held, oldestAge)} />
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
  items: readonly FailedMessage[]
  total: number
  /** The type that the list is limited to; empty: all types. */
  search: string
  onMoved(): void
}

function Failed({ items, total, search, onMoved }: FailedProps) {
  const api = useApi()
  const { change } = useRoute()
  const retry = (which: { ids: readonly string[] } | { all: true }) => async () => {
    const { retried } = await api.post<{ retried: number }>('vendor-cache/messenger/failed/retry', which)
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
          <span class="row-actions">
            <button
              type="button"
              aria-label={`Inspect ${message.type} ${message.id}`}
              onClick={() => change({ message: message.id })}
            >
              Inspect
            </button>
            <Act label="Retry" name={`Retry ${message.type} ${message.id}`} act={retry({ ids: [message.id] })} />
            <Copy text={message.id} />
          </span>,
        ])}
        keys={items.map((message) => message.id)}
        sort="here"
        isWhole={total === items.length}
        empty={search === '' ? 'No failed messages.' : 'No failed message has this type.'}
      />
      {total > 0 ? (
        <div class="row">
          {search === '' ? (
            <Act label={`Retry all ${formatCount(total)}`} act={retry({ all: true })} />
          ) : (
            <Act label={`Retry these ${items.length}`} act={retry({ ids: items.map(({ id }) => id) })} />
          )}
        </div>
      ) : null}
    </>
  )
}

function Removal({ total, onRemoved }: { total: number; onRemoved(): void }) {
  const api = useApi()
  const remove = async () => {
    const { removed } = await api.post<{ removed: number }>('vendor-cache/messenger/failed/remove', { all: true })
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
