import { useState } from 'preact/hooks'
import { Act, Confirm, Danger } from './actions.tsx'
import type { StageStatistics } from './answers.ts'
import { useApi } from './api-context.ts'
import { TimeChart } from './chart.tsx'
import { formatCount, formatShare } from './format.ts'
import { Field, Figure, Known, Panel } from './parts.tsx'
import { useRoute } from './route.ts'
import { useResource } from './use-resource.ts'

/** The events, and their names in the chart. */
const events = [
  ['impression', 'Impressions'],
  ['cta_click', 'Clicks'],
  ['close', 'Closed'],
  ['permanent_dismiss', 'Never again'],
] as const

/** What visitors did with a stage. */
export function Statistics({ id, name }: { id: string; name: string }) {
  const { params, change } = useRoute()
  const { since = '', to = '' } = params
  const statistics = useResource<StageStatistics>(
    'vendor-stage/stats',
    { popupId: id, dateFrom: since, dateTo: to },
    5000,
    'ask',
  )
  return (
    <Panel title={`Statistics of ${name}`}>
      <div class="row">
        <Field label="From (UTC)" type="date" value={since} set={(day) => change({ since: day })} />
        <Field label="To (inclusive)" type="date" value={to} set={(day) => change({ to: day })} />
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
            {Object.values(totals).every((count) => count === 0) ? (
              <p class="empty">No events in this time.</p>
            ) : (
              <TimeChart
                caption={`Events by ${bucket}`}
                at={series.map(({ date }) => Date.parse(date) / 1000)}
                lines={events.map(([event, name]) => ({ name, values: series.map((bucketOf) => bucketOf[event]) }))}
              />
            )}
          </>
        )}
      </Known>
    </Panel>
  )
}

export function DeleteStage({ id, name, onDeleted }: { id: string; name: string; onDeleted(): void }) {
  const api = useApi()
  const remove = (fate: 'keep' | 'remove') => async () => {
    await api.send('DELETE', `vendor-stage/stages/${id}?events=${fate}`)
    onDeleted()
    return 'Deleted.'
  }
  return (
    <Danger what={`Delete the stage ${name}.`}>
      <Confirm
        label="Delete stage, keep events"
        title={`Delete the stage ${name}`}
        question={`Its events are kept for their retention and can still be counted under ${id}.`}
        act={remove('keep')}
      />
      <Confirm
        label="Delete stage and events"
        title={`Delete the stage ${name} and all its events`}
        question="Its statistics are lost."
        act={remove('remove')}
      />
    </Danger>
  )
}

export function EraseCustomer() {
  const api = useApi()
  const [customerId, setCustomerId] = useState('')
  const id = customerId.trim()
  const erase = async () => {
    const { events: count, mode } = await api.post<{ events: number; mode: string }>('vendor-stage/customer/delete', {
      customerId: id,
    })
    return `${formatCount(count)} events ${mode === 'remove' ? 'removed' : 'anonymized'}.`
  }
  return (
    <Danger what="Erase a customer from the events of all stages.">
      <Field label="Customer ID" value={customerId} set={setCustomerId} />
      {id === '' ? (
        <Act label="Erase" disabled act={erase} />
      ) : (
        <Confirm
          label="Erase"
          title={`Erase customer ${id}`}
          question="The customer is removed from the events of all stages."
          act={erase}
        />
      )}
    </Danger>
  )
}
