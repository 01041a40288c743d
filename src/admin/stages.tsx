import { useState } from 'preact/hooks'
import { placeInWindow } from '../lib/time-window.ts'
import { Act, DangerZone } from './actions.tsx'
import type { Stage, StageList } from './answers.ts'
import { useApi } from './api-context.ts'
import { formatTime } from './format.ts'
import { Known, Panel } from './parts.tsx'
import { StageForm } from './stage-form.tsx'
import { DeleteStage, EraseCustomer, Statistics } from './stage-statistics.tsx'
import { Table } from './table.tsx'
import { useResource } from './use-resource.ts'

export function StagesView() {
  const api = useApi()
  const stages = useResource<StageList>('vendor-stage/stages', { limit: 200 }, 5000)
  const [chosen, setChosen] = useState<string | null>(null)
  const [edited, setEdited] = useState<Stage | 'new' | null>(null)
  const saved = (stage: Stage) => {
    setEdited(null)
    setChosen(stage.id)
    stages.refresh()
  }
  const nameOf = (id: string) => stages.value?.items.find((stage) => stage.id === id)?.name ?? id
  const duplicated = (copy: Stage) => {
    stages.refresh()
    setEdited(copy)
  }
  return (
    <>
      <Panel
        title="Stages"
        aside={
          api.canWrite ? (
            <button type="button" onClick={() => setEdited('new')}>
              New stage
            </button>
          ) : null
        }
      >
        <Known of={stages}>
          {({ items }) => (
            <StageTable items={items} onChosen={setChosen} onEdited={setEdited} onDuplicated={duplicated} />
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
      {chosen ? <Statistics id={chosen} name={nameOf(chosen)} /> : null}
      <DangerZone>
        {chosen ? (
          <DeleteStage
            id={chosen}
            name={nameOf(chosen)}
            onDeleted={() => {
              setChosen(null)
              if (edited !== 'new' && edited?.id === chosen) setEdited(null)
              stages.refresh()
            }}
          />
        ) : null}
        <EraseCustomer />
      </DangerZone>
    </>
  )
}

interface StageTableProps {
  items: readonly Stage[]
  onChosen(id: string): void
  onEdited(stage: Stage): void
  onDuplicated(copy: Stage): void
}

function StageTable({ items, onChosen, onEdited, onDuplicated }: StageTableProps) {
  const api = useApi()
  const duplicate = async ({ id }: Stage) => {
    onDuplicated((await api.post<{ stage: Stage }>(`vendor-stage/stages/${id}/duplicate`)).stage)
    return ''
  }
  return (
    <Table
      caption="Popup stages"
      head={['Name', 'State', 'Frequency', 'Shown', 'Events kept', '']}
      rows={items.map((stage) => [
        stage.name,
        <State stage={stage} />,
        stage.maxPerSession === null ? stage.frequency : `${stage.frequency}, max ${stage.maxPerSession} per session`,
        describeWindow(stage),
        describeRetention(stage),
        <span class="row-actions">
          <button type="button" onClick={() => onChosen(stage.id)} aria-label={`Statistics of ${stage.name}`}>
            Statistics
          </button>
          {api.canWrite ? (
            <button type="button" onClick={() => onEdited(stage)} aria-label={`Edit ${stage.name}`}>
              Edit
            </button>
          ) : null}
          <Act label="Duplicate" name={`Duplicate ${stage.name}`} act={() => duplicate(stage)} />
        </span>,
      ])}
      keys={items.map(({ id }) => id)}
      sort="here"
      empty="No stages yet."
    />
  )
}

function State({ stage }: { stage: Stage }) {
  const place = placeInWindow(stage.from, stage.until, Date.now())
  const isShown = stage.active && place === 'within'
  const state = !stage.active ? 'off' : { before: 'scheduled', within: 'active', after: 'ended' }[place]
  return (
    <span class={`badge ${isShown ? 'ok' : 'paused'}`}>
      {state}
      {stage.statsEnabled ? '' : ', not counted'}
    </span>
  )
}

function describeRetention({ retentionDays }: Stage): string {
  if (retentionDays === 0) return 'for ever'
  return retentionDays === 1 ? 'a day' : `${retentionDays} days`
}

function describeWindow({ from, until }: Stage): string {
  if (from === null && until === null) return 'always'
  return [from === null ? '' : `from ${formatTime(from)}`, until === null ? '' : `until ${formatTime(until)}`]
    .join(' ')
    .trim()
}
