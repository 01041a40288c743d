import { useRef, useState } from 'preact/hooks'
import { placeInWindow } from '../lib/time-window.ts'
import { Act, DangerZone } from './actions.tsx'
import type { Stage, StageList } from './answers.ts'
import { useApi } from './api-context.ts'
import { formatTime } from './format.ts'
import { useNotify } from './notices.tsx'
import { Known, Panel } from './parts.tsx'
import { StageForm } from './stage-form.tsx'
import { DeleteStage, EraseCustomer, Statistics } from './stage-statistics.tsx'
import { Pager, Table } from './table.tsx'
import { useResource } from './use-resource.ts'

const portion = 50

export function StagesView() {
  const api = useApi()
  const [offset, setOffset] = useState(0)
  const stages = useResource<StageList>('vendor-stage/stages', { limit: portion, offset }, 5000)
  const [chosen, setChosen] = useState<Stage | null>(null)
  const [edited, setEdited] = useState<Stage | 'new' | null>(null)
  const isChanged = useRef(false)
  const notify = useNotify()
  const edit = (stage: Stage | 'new' | null) => {
    isChanged.current = false
    setEdited(stage)
  }
  const editAnother = (stage: Stage | 'new') => {
    if (isChanged.current) notify('Save the changed stage first, or close it without saving.', true)
    else edit(stage)
  }
  const saved = (stage: Stage) => {
    edit(null)
    setChosen(stage)
    stages.refresh()
  }
  // It may be on another page of the list.
  const nameOf = (stage: Stage) => stages.value?.items.find(({ id }) => id === stage.id)?.name ?? stage.name
  const duplicated = (copy: Stage) => {
    stages.refresh()
    editAnother(copy)
  }
  return (
    <>
      <Panel
        title="Stages"
        aside={
          api.canWrite ? (
            <button type="button" onClick={() => editAnother('new')}>
              New stage
            </button>
          ) : null
        }
      >
        <Known of={stages}>
          {({ items, total }) => (
            <>
              <StageTable
                items={items}
                isWhole={items.length === total}
                onChosen={setChosen}
                onEdited={editAnother}
                onDuplicated={duplicated}
              />
              <Pager offset={offset} portion={portion} total={total} set={setOffset} />
            </>
          )}
        </Known>
      </Panel>
      {edited ? (
        <StageForm
          key={edited === 'new' ? 'new' : edited.id}
          stage={edited === 'new' ? null : edited}
          onSaved={saved}
          onClosed={() => edit(null)}
          onChanged={() => (isChanged.current = true)}
        />
      ) : null}
      {chosen ? <Statistics id={chosen.id} name={nameOf(chosen)} /> : null}
      <DangerZone>
        {chosen ? (
          <DeleteStage
            id={chosen.id}
            name={nameOf(chosen)}
            onDeleted={() => {
              setChosen(null)
              if (edited !== 'new' && edited?.id === chosen.id) edit(null)
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
  /** Whether `items` are all stages. */
  isWhole: boolean
  onChosen(stage: Stage): void
  onEdited(stage: Stage): void
  onDuplicated(copy: Stage): void
}

function StageTable({ items, isWhole, onChosen, onEdited, onDuplicated }: StageTableProps) {
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
          <button type="button" onClick={() => onChosen(stage)} aria-label={`Statistics of ${stage.name}`}>
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
      sort={isWhole ? 'here' : undefined}
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
