import { useState } from 'preact/hooks'
import type { Stage } from './answers.ts'
import { Act } from './actions.tsx'
import { Field, Panel } from './parts.tsx'
import { useApi } from './api-context.ts'

const frequencies = ['always', 'once_per_session', 'once'] as const
const actions = ['none', 'url', 'close', 'scroll'] as const

/** The settings of a stage as form fields hold them: as text until they are sent. */
interface Draft {
  name: string
  active: boolean
  statsEnabled: boolean
  frequency: string
  maxPerSession: string
  retentionDays: string
  salesChannelId: string
  pageTypes: string
  headline: string
  text: string
  html: string
  label: string
  action: string
  target: string
  dismissLabel: string
}

/** Creates or changes a stage. */
export function StageForm({
  stage,
  onSaved,
  onClosed,
}: {
  stage: Stage | null
  onSaved(stage: Stage): void
  onClosed(): void
}) {
  const api = useApi()
  const [draft, setDraft] = useState(() => toDraft(stage))
  const text = (key: keyof { [K in keyof Draft as Draft[K] extends string ? K : never]: true }) => ({
    value: draft[key],
    set: (value: string) => setDraft({ ...draft, [key]: value }),
  })
  const save = async () => {
    const body = toBody(draft)
    const { stage: saved } =
      stage === null
        ? await api.post<{ stage: Stage }>('vendor-stage/stages', body)
        : await api.send<{ stage: Stage }>('PATCH', `vendor-stage/stages/${stage.id}`, body)
    onSaved(saved)
    return 'Saved.'
  }
  return (
    <Panel
      title={stage === null ? 'New stage' : `Edit ${stage.name}`}
      aside={
        <button type="button" onClick={onClosed}>
          Close without saving
        </button>
      }
    >
      <div class="row">
        <Field label="Name" {...text('name')} width="wide" />
        <Field label="Frequency" {...text('frequency')} list={frequencies} />
        <Field label="Max views per session (empty: unlimited)" type="number" {...text('maxPerSession')} />
        <Field label="Retention in days (0: unlimited)" type="number" {...text('retentionDays')} />
      </div>
      <div class="row">
        <Tick label="Active" value={draft.active} set={(active) => setDraft({ ...draft, active })} />
        <Tick
          label="Track statistics"
          value={draft.statsEnabled}
          set={(statsEnabled) => setDraft({ ...draft, statsEnabled })}
        />
        <Field label="Sales channel ID (empty: all)" {...text('salesChannelId')} width="wide" />
        <Field label="Page types, separated by commas (empty: all)" {...text('pageTypes')} width="wide" />
      </div>
      <div class="row">
        <Field label="Headline" {...text('headline')} width="wide" />
        <Field label="Dismiss label (empty: no button)" {...text('dismissLabel')} width="wide" />
      </div>
      <Area label="Content as text" {...text('text')} />
      <Area label="Content as HTML (scripts are removed)" {...text('html')} />
      <div class="row">
        <Field label="Call to action" {...text('action')} list={actions} />
        {draft.action === 'none' ? null : <Field label="Button label" {...text('label')} />}
        {draft.action === 'url' || draft.action === 'scroll' ? (
          <Field label={draft.action === 'url' ? 'URL' : 'CSS selector'} {...text('target')} width="wide" />
        ) : null}
      </div>
      <div class="row">
        <Act label="Save" busy="Saving …" act={save} />
      </div>
    </Panel>
  )
}

function Area({ label, value, set }: { label: string; value: string; set(value: string): void }) {
  return (
    <label class="wide">
      <span>{label}</span>
      <textarea rows={4} value={value} onInput={(event) => set(event.currentTarget.value)} />
    </label>
  )
}

function Tick({ label, value, set }: { label: string; value: boolean; set(value: boolean): void }) {
  return (
    <label class="tick">
      <input type="checkbox" checked={value} onChange={(event) => set(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  )
}

function toDraft(stage: Stage | null): Draft {
  const call = stage?.content.callToAction ?? null
  return {
    name: stage?.name ?? '',
    active: stage?.active ?? true,
    statsEnabled: stage?.statsEnabled ?? true,
    frequency: stage?.frequency ?? 'always',
    maxPerSession: stage?.maxPerSession?.toString() ?? '',
    retentionDays: String(stage?.retentionDays ?? 90),
    salesChannelId: stage?.salesChannelId ?? '',
    pageTypes: stage?.pageTypes.join(', ') ?? '',
    headline: stage?.content.headline ?? '',
    text: stage?.content.text ?? '',
    html: stage?.content.html ?? '',
    label: call?.label ?? '',
    action: call?.action ?? 'none',
    target: call?.url ?? call?.selector ?? '',
    dismissLabel: stage?.content.dismissLabel ?? '',
  }
}

/** Converts a draft to the request body. The API validates it and explains errors. */
function toBody(draft: Draft): object {
  const callToAction =
    draft.action === 'none'
      ? null
      : {
          label: draft.label,
          action: draft.action,
          url: draft.action === 'url' ? draft.target : null,
          selector: draft.action === 'scroll' ? draft.target : null,
        }
  return {
    name: draft.name,
    active: draft.active,
    statsEnabled: draft.statsEnabled,
    frequency: draft.frequency,
    maxPerSession: draft.maxPerSession === '' ? null : Number(draft.maxPerSession),
    // An empty field must not mean "for ever".
    retentionDays: draft.retentionDays === '' ? null : Number(draft.retentionDays),
    salesChannelId: draft.salesChannelId.trim() === '' ? null : draft.salesChannelId.trim(),
    pageTypes: draft.pageTypes
      .split(',')
      .map((type) => type.trim())
      .filter((type) => type !== ''),
    content: {
      headline: draft.headline,
      text: orNull(draft.text),
      html: orNull(draft.html),
      callToAction,
      dismissLabel: orNull(draft.dismissLabel),
    },
  }
}

function orNull(text: string): string | null {
  return text === '' ? null : text
}
