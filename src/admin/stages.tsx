import { useState } from 'preact/hooks'
import type { Stage, StageList, StageStatistics } from './answers.ts'
import { TimeChart } from './chart.tsx'
import { formatCount, formatShare } from './format.ts'
import { Act, Confirm } from './actions.tsx'
import { Field, Figure, Known, Panel } from './parts.tsx'
import { Table } from './table.tsx'
import { useApi } from './api-context.ts'
import { StageForm } from './stage-form.tsx'
import { useResource } from './use-resource.ts'

const events = ['impression', 'cta_click', 'close', 'permanent_dismiss'] as const

export function StagesView() {
  const { canWrite } = useApi()
  const stages = useResource<StageList>('vendor-stage/stages', { limit: 200 }, 5000)
  const [chosen, setChosen] = useState<string | null>(null)
  const [edited, setEdited] = useState<Stage | 'new' | null>(null)
  const saved = (stage: Stage) => {
    setEdited(null)
    setChosen(stage.id)
    stages.refresh()
  }
  return (
    <>
      <Panel
        title="Stages"
        aside={
          canWrite ? (
            <button type="button" onClick={() => setEdited('new')}>
              New stage
            </button>
          ) : null
        }
      >
        <Known of={stages}>
          {({ items }) => (
            <Table
              caption="Popup stages"
              head={['Name', 'State', 'Frequency', 'Events kept', '', '']}
              rows={items.map((stage) => [
                stage.name,
                <span class={`badge ${stage.active ? 'ok' : 'paused'}`}>
                  {stage.active ? 'active' : 'off'}
                  {stage.statsEnabled ? '' : ', not counted'}
                </span>,
                stage.maxPerSession === null
                  ? stage.frequency
                  : `${stage.frequency}, max ${stage.maxPerSession} per session`,
                stage.retentionDays === 0
                  ? 'for ever'
                  : stage.retentionDays === 1
                    ? 'a day'
                    : `${stage.retentionDays} days`,
                <button type="button" onClick={() => setChosen(stage.id)} aria-label={`Statistics of ${stage.name}`}>
                  Statistics
                </button>,
                canWrite ? (
                  <button type="button" onClick={() => setEdited(stage)} aria-label={`Edit ${stage.name}`}>
                    Edit
                  </button>
                ) : null,
              ])}
              empty="No stages yet."
            />
          )}
        </Known>
      </Panel>
      {edited ? (
        <StageForm
          key={edited === 'new' ? 'new' : edited.id}
          stage={edited === 'new' ? null : edited}
          onSaved={saved}
          onClosed={() => setEdited(null)}
        />
      ) : null}
      {chosen ? (
        <Statistics
          id={chosen}
          name={stages.value?.items.find((stage) => stage.id === chosen)?.name ?? chosen}
          onDeleted={() => {
            setChosen(null)
            stages.refresh()
          }}
        />
      ) : null}
      <Erase />
    </>
  )
}

function Statistics({ id, name, onDeleted }: { id: string; name: string; onDeleted(): void }) {
  const api = useApi()
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const statistics = useResource<StageStatistics>(
    'vendor-stage/stats',
    { popupId: id, dateFrom: from, dateTo: to },
    5000,
    'ask',
  )
  const remove = async (fate: 'keep' | 'remove') => {
    await api.send('DELETE', `vendor-stage/stages/${id}?events=${fate}`)
    onDeleted()
    return 'Deleted.'
  }
  return (
    <Panel title={`Statistics of ${name}`}>
      <div class="row">
        <Field label="From (UTC)" type="date" value={from} set={setFrom} />
        <Field label="To (inclusive)" type="date" value={to} set={setTo} />
        <Confirm
          label="Delete stage, keep events"
          question={`The stage ${name} will be deleted permanently. Its events are kept for their retention and can still be counted under ${id}.`}
          act={() => remove('keep')}
        />
        <Confirm
          label="Delete stage and events"
          question={`The stage ${name} and all its events will be deleted permanently.`}
          act={() => remove('remove')}
        />
      </div>
      <Known of={statistics}>
        {({ totals, rates, series, bucket }) => (
          <>
            <dl class="figures">
              <Figure name="Impressions" value={formatCount(totals.impression)} />
              <Figure name="Clicks" value={formatCount(totals.cta_click)} note={formatShare(rates.ctr, 1)} />
              <Figure name="Closed" value={formatCount(totals.close)} note={formatShare(rates.closeRate, 1)} />
              <Figure
                name="Never again"
                value={formatCount(totals.permanent_dismiss)}
                note={formatShare(rates.dismissRate, 1)}
              />
            </dl>
            <TimeChart
              caption={`Events by ${bucket}`}
              at={series.map(({ date }) => Date.parse(date) / 1000)}
              lines={events.map((event) => ({ name: event, values: series.map((bucketOf) => bucketOf[event]) }))}
            />
          </>
        )}
      </Known>
    </Panel>
  )
}

function Erase() {
  const api = useApi()
  const [customerId, setCustomerId] = useState('')
  const erase = async () => {
    const { events: count, mode } = await api.post<{ events: number; mode: string }>('vendor-stage/customer/delete', {
      customerId: customerId.trim(),
    })
    return `${formatCount(count)} events ${mode === 'remove' ? 'removed' : 'anonymized'}.`
  }
  if (!api.canWrite) return null
  return (
    <Panel title="Erase a customer">
      <div class="row">
        <Field label="Customer ID" value={customerId} set={setCustomerId} width="wide" />
        {customerId.trim() === '' ? (
          <Act label="Erase" disabled act={erase} />
        ) : (
          <Confirm
            label="Erase"
            question={`Customer ${customerId.trim()} will be erased from the events of all stages. This cannot be undone.`}
            act={erase}
          />
        )}
      </div>
    </Panel>
  )
}
