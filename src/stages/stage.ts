import type { StageEventType, StageRow } from '../records/stage-rows.ts'

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

/** The button of a stage, and what a click on it does. */
export interface CallToAction {
  label: string
  action: CtaAction
  /** Where `url` leads; null for the other actions. */
  url: string | null
  /** What `scroll` scrolls to, a CSS selector; null for the other actions. */
  selector: string | null
}

/** What a visitor sees. */
export interface StageContent {
  headline: string
  /** Sanitised; null where the stage has a text. */
  html: string | null
  text: string | null
  callToAction: CallToAction | null
  /** The label of the "don't show again" button; null: there is none. */
  dismissLabel: string | null
  /** What a screen reader calls the X. */
  closeLabel: string
}

/** What an operator sets of a stage (spec 2, section 2). */
export interface StageFields {
  name: string
  statsEnabled: boolean
  /** Days that events are kept; 0: for ever. */
  retentionDays: number
  /** Shows per visitor session; null: any number. */
  maxPerSession: number | null
  frequency: Frequency
  /** Null: on every sales channel. */
  salesChannelId: string | null
  active: boolean
  /** The pages' types on which it is shown; empty: on all. */
  pageTypes: string[]
  content: StageContent
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
    createdAt: new Date(row.created_at).toISOString(),
    updatedAt: new Date(row.updated_at).toISOString(),
  }
}

/** The columns that hold an operator's settings. */
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
  }
}
