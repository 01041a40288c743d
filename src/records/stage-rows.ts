/** The tables of the popup stages. */
export interface StageTables {
  sales_channel: SalesChannelRow
  vendor_stage: StageRow
  vendor_stage_event: StageEventRow
  vendor_stage_rollup: StageRollupRow
  vendor_stage_session: StageSessionRow
}

/** The configured sales channels, for foreign keys. A channel removed from the configuration stays, because events refer to it. */
interface SalesChannelRow {
  id: string
  name: string
  url: string
}

export interface StageRow {
  id: string
  name: string
  stats_enabled: number
  /** 0 keeps events forever. */
  retention_days: number
  /** Most views per visitor session; null: unlimited. */
  max_per_session: number | null
  frequency: 'always' | 'once_per_session' | 'once'
  /** Null: all channels. */
  sales_channel_id: string | null
  active: number
  /** JSON list; empty for all. */
  page_types: string
  /** JSON, sanitised before it is saved. */
  content: string
  /** Shown from this time, inclusive, until that time, exclusive; null: without a limit. */
  starts_at: number | null
  ends_at: number | null
  /** JSON: appearance, and what opens it; null in rows of earlier versions: the defaults. */
  look: string | null
  opens: string | null
  created_at: number
  updated_at: number
  /** Set on a deleted stage, whose row stays while events refer to it. */
  deleted: 'keep' | 'remove' | null
}

export type StageEventType = 'impression' | 'cta_click' | 'close' | 'permanent_dismiss'

/** Append-only: triggers refuse every update except setting `customer_id` to null. */
export interface StageEventRow {
  id: string
  popup_id: string
  event_type: StageEventType
  sales_channel_id: string
  customer_id: string | null
  page_type: string | null
  request_url: string | null
  created_at: number
}

/** Counts of a stage's events in one hour (UTC), updated in the same transaction as the events. */
export interface StageRollupRow {
  popup_id: string
  /** Hours since the epoch. */
  hour: number
  impression: number
  cta_click: number
  close: number
  permanent_dismiss: number
}

/** How often a session was shown a stage on one day. It cannot be linked to events. */
export interface StageSessionRow {
  /** Midnight (UTC) after the next day: a more precise time could be matched with events. */
  expires_at: number
  /** A digest of the session cookie, which is not stored itself. */
  session: string
  popup_id: string
  shows: number
}
