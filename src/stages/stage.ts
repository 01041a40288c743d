import type { StageEventType, StageRow } from '../records/stage-rows.ts'
import { defaultLook, defaultTrigger, type StageLook, type StageTrigger } from './look.ts'
import type { StageWindow } from './window.ts'

export const eventTypes = [
  'impression',
  'cta_click',
  'close',
  'permanent_dismiss',
] as const satisfies readonly StageEventType[]
export type EventType = StageEventType

export const frequencies = ['always', 'once_per_session', 'once'] as const satisfies readonly StageRow['frequency'][]
type Frequency = StageRow['frequency']

export const ctaActions = ['url', 'close', 'scroll'] as const
type CtaAction = (typeof ctaActions)[number]

/** The button of a stage and its click action. */
export interface CallToAction {
  label: string
  action: CtaAction
  /** The target of the action `url`; null for other actions. */
  url: string | null
  /** CSS selector of the target of the action `scroll`; null for other actions. */
  selector: string | null
}

/** The content shown to a visitor. */
export interface StageContent {
  headline: string
  /** Sanitised HTML; null if the stage has a text. */
  html: string | null
  text: string | null
  callToAction: CallToAction | null
  /** Label of the "don't show again" button; null for no button. */
  dismissLabel: string | null
  /** Accessible name of the close button. */
  closeLabel: string
}

/** The settings of a stage. */
export interface StageFields extends StageWindow {
  name: string
  statsEnabled: boolean
  /** Days that events are kept; 0 keeps them for ever. */
  retentionDays: number
  /** Maximum shows per visitor session; null for no limit. */
  maxPerSession: number | null
  frequency: Frequency
  /** Null for all sales channels. */
  salesChannelId: string | null
  active: boolean
  /** Page types on which it is shown; empty for all. */
  pageTypes: string[]
  content: StageContent
  look: StageLook
  trigger: StageTrigger
}

export interface Stage extends StageFields {
  id: string
  createdAt: string
  updatedAt: string
}

export function toStage(row: StageRow): Stage {
  return {
    id: row.id,
    name: row.name,
    statsEnabled: row.stats_enabled === 1,
    retentionDays: row.retention_days,
    maxPerSession: row.max_per_session,
    frequency: row.frequency,
    salesChannelId: row.sales_channel_id,
    active: row.active === 1,
    pageTypes: JSON.parse(row.page_types) as string[],
    content: JSON.parse(row.content) as StageContent,
    from: toIso(row.starts_at),
    until: toIso(row.ends_at),
    // A stage of an earlier version has neither.
    look: { ...defaultLook, ...(JSON.parse(row.look ?? '{}') as Partial<StageLook>) },
    trigger: { ...defaultTrigger, ...(JSON.parse(row.opens ?? '{}') as Partial<StageTrigger>) },
    createdAt: new Date(row.created_at).toISOString(),
    updatedAt: new Date(row.updated_at).toISOString(),
  }
}

/** Converts settings to columns. */
export function toColumns(fields: StageFields) {
  return {
    name: fields.name,
    stats_enabled: fields.statsEnabled ? 1 : 0,
    retention_days: fields.retentionDays,
    max_per_session: fields.maxPerSession,
    frequency: fields.frequency,
    sales_channel_id: fields.salesChannelId,
    active: fields.active ? 1 : 0,
    page_types: JSON.stringify(fields.pageTypes),
    content: JSON.stringify(fields.content),
    starts_at: fields.from === null ? null : Date.parse(fields.from),
    ends_at: fields.until === null ? null : Date.parse(fields.until),
    look: JSON.stringify(fields.look),
    opens: JSON.stringify(fields.trigger),
  }
}

function toIso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString()
}
