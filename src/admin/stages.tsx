import { placeInWindow } from '../lib/moment.ts'
import { readList } from '../lib/read-list.ts'
import { printable } from '../lib/safe-text.ts'
import { Act, DangerZone } from './actions.tsx'
import { Arriving } from './arriving.tsx'
import type { Stage, StageList } from './answers.ts'
import { useApi } from './api-context.ts'
import { formatTime } from './format.ts'
import { keepDraft, newStage, readDraft } from './kept-drafts.ts'
import { LocalPager, LocalSearch, pick, useList } from './list.tsx'
import { Known, Panel } from './parts.tsx'
import { useRoute } from './route.ts'
import { StageForm } from './stage-form.tsx'
import { DeleteStage, EraseCustomer, Statistics } from './stage-statistics.tsx'
import { Table } from './table.tsx'
import { useAnswer, useResource, type Ask } from './use-resource.ts'

/**
 * Reads all stages, so the whole list can be searched and sorted. Never shows a partial list: the pager would take its end for the end of
 * the list, and leave the page that the URL names.
 */
const readAll: Ask<Stage[]> = (api, signal) =>
  readList(
    (page) => api.get<StageList>('vendor-stage/stages', page, signal),
    ({ id }) => id,
  )

export function StagesView() {
  const api = useApi()
  const { params, change } = useRoute()
  const stages = useAnswer('stages', readAll, 5000)
  const edited = api.canWrite ? params['edit'] : undefined
  const chosen = params['stage']
  const nameOf = (id: string) => printable(stages.value?.find((stage) => stage.id === id)?.name ?? id)
  const saved = ({ id }: Stage) => {
    change({ edit: '', stage: id })
    stages.refresh()
  }
  const duplicated = ({ id }: Stage) => {
    stages.refresh()
    change({ edit: id })
  }
  const deleted = (id: string) => {
    keepDraft(api.clientId, id, null)
    change({ stage: '', edit: edited === id ? '' : edited })
    stages.refresh()
  }
  const hasNew = readDraft(api.clientId, newStage) !== null
  return (
    <>
      <Panel
        title="Stages"
        aside={
          api.canWrite ? (
            <button type="button" onClick={() => change({ edit: newStage })}>
              {hasNew && edited !== newStage ? 'Continue the new stage' : 'New stage'}
            </button>
          ) : null
        }
      >
        <Known of={stages}>{(items) => <StageTable items={items} onDuplicated={duplicated} />}</Known>
      </Panel>
      {edited ? (
        <Arriving key={edited}>
          <Edited id={edited} onSaved={saved} onClosed={() => change({ edit: '' })} />
        </Arriving>
      ) : null}
      {chosen ? (
        <Arriving key={chosen}>
          <Statistics id={chosen} name={nameOf(chosen)} />
        </Arriving>
      ) : null}
      <DangerZone>
        {chosen ? <DeleteStage id={chosen} name={nameOf(chosen)} onDeleted={() => deleted(chosen)} /> : null}
        <EraseCustomer />
      </DangerZone>
    </>
  )
}

interface EditedProps {
  id: string
  onSaved(stage: Stage): void
  onClosed(): void
}

function Edited({ id, ...then }: EditedProps) {
  const path = id === newStage ? null : `vendor-stage/stages/${encodeURIComponent(id)}`
  const shown = useResource<{ stage: Stage }>(path, {}, 5000)
  if (path === null) return <StageForm stage={null} {...then} />
  if (shown.value !== null) return <StageForm stage={shown.value.stage} {...then} />
  return (
    <Panel title="Edit a stage">
      <Known of={shown}>{() => null}</Known>
    </Panel>
  )
}

interface StageTableProps {
  items: readonly Stage[]
  onDuplicated(copy: Stage): void
}

function StageTable({ items, onDuplicated }: StageTableProps) {
  const list = useList('stages', 50)
  const found = pick(
    list,
    items,
    (stage) => `${stage.name} ${stateOf(stage)} ${stage.frequency} ${stage.content.headline}`,
  )
  return (
    <>
      <LocalSearch list={list} count={items.length} label="Name, headline or state contains" />
      <Table
        caption="Popup stages"
        head={['Name', 'State', 'Frequency', 'Shown', 'Events kept', '']}
        rows={found.map((stage) => [
          { by: stage.name, shown: <Name stage={stage} /> },
          { by: stateOf(stage), shown: <State stage={stage} /> },
          stage.maxPerSession === null ? stage.frequency : `${stage.frequency}, max ${stage.maxPerSession} per session`,
          { by: stage.from ?? '', shown: describeWindow(stage) },
          { by: stage.retentionDays === 0 ? Infinity : stage.retentionDays, shown: describeRetention(stage) },
          <StageActions stage={stage} onDuplicated={onDuplicated} />,
        ])}
        keys={found.map(({ id }) => id)}
        sort="here"
        part={list}
        empty={list.search === '' ? 'No stages yet.' : 'Nothing matches.'}
      />
      <LocalPager list={list} total={found.length} />
    </>
  )
}

function StageActions({ stage, onDuplicated }: { stage: Stage; onDuplicated(copy: Stage): void }) {
  const api = useApi()
  const { change } = useRoute()
  const { id, name } = stage
  const duplicate = async () => {
    onDuplicated((await api.post<{ stage: Stage }>(`vendor-stage/stages/${id}/duplicate`)).stage)
    return ''
  }
  return (
    <span class="row-actions">
      <button type="button" onClick={() => change({ stage: id })} aria-label={`Statistics of ${name}`}>
        Statistics
      </button>
      {api.canWrite ? (
        <button type="button" onClick={() => change({ edit: id })} aria-label={`Edit ${name}`}>
          Edit
        </button>
      ) : null}
      <Act label="Duplicate" name={`Duplicate ${name}`} act={duplicate} />
    </span>
  )
}

function Name({ stage: { id, name } }: { stage: Stage }) {
  const { clientId } = useApi()
  return (
    <>
      {printable(name)} {readDraft(clientId, id) === null ? null : <span class="badge paused">unsaved changes</span>}
    </>
  )
}

function stateOf({ active, from, until }: Stage): string {
  return active
    ? { before: 'scheduled', within: 'active', after: 'ended' }[placeInWindow(from, until, Date.now())]
    : 'off'
}

function State({ stage }: { stage: Stage }) {
  const state = stateOf(stage)
  return (
    <span class={`badge ${state === 'active' ? 'ok' : 'paused'}`}>
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
