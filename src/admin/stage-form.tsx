import { printable } from '../lib/safe-text.ts'
import type { Stage } from './answers.ts'
import { Confirm, Form } from './actions.tsx'
import { ApiError } from './api.ts'
import { useApi } from './api-context.ts'
import { useChannels } from './channels.ts'
import type { Channel } from './urls.ts'
import { ChannelField, Field, Panel } from './parts.tsx'
import { toBody, toChanges, withLabels, type Draft } from './stage-draft.ts'
import { PreviewLinks, StagePreview } from './stage-preview.tsx'
import { useDraft, type OpenDraft } from './use-draft.ts'

const frequencies = ['always', 'once_per_session', 'once'] as const
const actions = ['none', 'url', 'close', 'scroll'] as const
const positions = ['centre', 'corner', 'sheet', 'bar'] as const
const schemes = ['light', 'dark', 'auto'] as const
const entrances = ['none', 'fade', 'slide'] as const

type Change = (fields: Partial<Draft>) => void
type TextKey = { [Key in keyof Draft]: Draft[Key] extends string ? Key : never }[keyof Draft]
type Text = (key: TextKey) => { value: string; set(value: string): void }

interface Fields {
  draft: Draft
  change: Change
  text: Text
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
  const open = useDraft(stage)
  const { draft, change } = open
  const channels = useChannels()
  const text: Text = (key) => ({ value: draft[key], set: (value) => change({ [key]: value }) })
  const save = async () => {
    const request =
      stage === null
        ? api.post<{ stage: Stage }>('vendor-stage/stages', toBody(draft))
        : api.send<{ stage: Stage }>('PATCH', `vendor-stage/stages/${stage.id}`, toChanges(draft, open.base))
    const { stage: saved } = await request.catch((error: Error) => {
      throw error instanceof ApiError ? new ApiError(error.status, withLabels(error.message)) : error
    })
    open.discard()
    onSaved(saved)
    return 'Saved.'
  }
  return (
    <Panel
      title={stage === null ? 'New stage' : `Edit ${printable(stage.name)}`}
      aside={<Close open={open} name={printable(stage?.name ?? 'the new stage')} onClosed={onClosed} />}
    >
      <DraftNotes open={open} />
      <div class="stage-form">
        <Form label="Save" busy="Saving …" submit={save} changes>
          <Rules {...{ draft, change, text, channels }} />
          <Content {...{ draft, text }} />
          <Look {...{ draft, change, text }} />
        </Form>
        <div class="stage-side">
          <StagePreview draft={draft} channels={channels} />
          {stage === null ? null : <PreviewLinks id={stage.id} />}
        </div>
      </div>
    </Panel>
  )
}

function Close({ open, name, onClosed }: { open: OpenDraft; name: string; onClosed(): void }) {
  const discard = async () => {
    open.discard()
    onClosed()
    return ''
  }
  return (
    <span class="row-actions">
      <button type="button" onClick={onClosed}>
        Close
      </button>
      {open.isChanged ? (
        <Confirm
          label="Discard changes"
          title={`Discard the changes of ${name}`}
          question="All changes since the last save are lost."
          act={discard}
        />
      ) : null}
    </span>
  )
}

function DraftNotes({ open: { isRestored, isOverwriting } }: { open: OpenDraft }) {
  return (
    <div role="status">
      {isRestored ? <p class="soft">Your unsaved changes were restored.</p> : null}
      {isOverwriting ? (
        <p class="warnings">
          Someone has saved this stage since you began editing it. Save overwrites the settings that you have changed.
        </p>
      ) : null}
    </div>
  )
}

/** When and where the stage is shown, and what is recorded. */
function Rules({ draft, change, text, channels }: Fields & { channels: readonly Channel[] }) {
  return (
    <fieldset>
      <legend>Rules</legend>
      <div class="row">
        <Field label="Name" {...text('name')} width="wide" />
        <Field label="Frequency" {...text('frequency')} list={frequencies} />
        <Field label="Max views per session (empty: unlimited)" type="number" {...text('maxPerSession')} />
        <Field label="Retention in days (0: unlimited)" type="number" {...text('retentionDays')} />
      </div>
      <div class="row">
        <Tick label="Active" value={draft.active} set={(active) => change({ active })} />
        <Tick label="Track statistics" value={draft.statsEnabled} set={(statsEnabled) => change({ statsEnabled })} />
        <Moment label="Show from (UTC)" {...text('from')} />
        <Moment label="Show until (UTC)" {...text('until')} />
      </div>
      <div class="row">
        <ChannelField channels={channels} {...text('salesChannelId')} />
        <Field label="Page types, separated by commas (empty: all)" {...text('pageTypes')} width="wide" />
      </div>
      <div class="row">
        <Field label="Open after seconds" type="number" {...text('delay')} />
        <Field label="Open at % scrolled" type="number" {...text('scroll')} />
        <Tick
          label="Open when the pointer leaves the window"
          value={draft.exitIntent}
          set={(exitIntent) => change({ exitIntent })}
        />
      </div>
    </fieldset>
  )
}

function Content({ draft, text }: Omit<Fields, 'change'>) {
  return (
    <fieldset>
      <legend>Content</legend>
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
    </fieldset>
  )
}

function Look({ draft, change, text }: Fields) {
  return (
    <fieldset>
      <legend>Look</legend>
      <div class="row">
        <Field label="Position" {...text('position')} list={positions} />
        <Field label="Scheme" {...text('scheme')} list={schemes} />
        <Field label="Entrance" {...text('entrance')} list={entrances} />
      </div>
      <div class="row">
        <Field label="Accent, #rrggbb (empty: the shop's)" {...text('accent')} />
        <label>
          <span class="unseen">Choose the accent</span>
          <input
            type="color"
            value={/^#[\da-f]{6}$/i.test(draft.accent) ? draft.accent : '#1f6f5c'}
            onInput={(event) => change({ accent: event.currentTarget.value })}
          />
        </label>
        <Field label="Fonts, separated by commas (empty: the shop's)" {...text('font')} width="wide" />
      </div>
      <div class="row">
        <Field label="Image, path on the shop or URL" {...text('image')} width="wide" />
        <Field label="Image description (empty: decorative)" {...text('imageAlt')} width="wide" />
      </div>
    </fieldset>
  )
}

/** A time without its zone, which the label names. */
function Moment({ label, value, set }: { label: string; value: string; set(value: string): void }) {
  return (
    <label>
      <span>{label}</span>
      <input type="datetime-local" step="any" value={value} onInput={(event) => set(event.currentTarget.value)} />
    </label>
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
