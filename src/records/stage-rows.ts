/** The tables of the popup stages (spec 2). */
export interface StageTables {
  sales_channel: SalesChannelRow
  vendor_stage: StageRow
  vendor_stage_event: StageEventRow
  vendor_stage_rollup: StageRollupRow
  vendor_stage_session: StageSessionRow
}

/** The configured sales channels, for the foreign keys. One that left the configuration stays: events name it. */
interface SalesChannelRow {
  id: string
  name: string
  url: string
}

export interface StageRow {
  id: string
  name: string
  stats_enabled: number
  /** 0 keeps events for ever. */
  retention_days: number
  /** Shows per visitor session; null for any number. */
  max_per_session: number | null
  frequency: 'always' | 'once_per_session' | 'once'
  /** Null: on every channel. */
  sales_channel_id: string | null
  active: number
  /** JSON list; empty for all. */
  page_types: string
  /** JSON, sanitised when it was written. */
  content: string
  created_at: number
  updated_at: number
  /** A deleted stage is nobody's any more; its row stays for as long as events name it. */
  deleted: 'keep' | 'remove' | null
}

export type StageEventType = 'impression' | 'cta_click' | 'close' | 'permanent_dismiss'

/** Append only: the schema refuses every change but `customer_id` becoming null. */
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

/** How many events of a stage there are in an hour (UTC), written in the transaction that changes the events. */
export interface StageRollupRow {
  popup_id: string
  /** Hours since the epoch. */
  hour: number
  impression: number
  cta_click: number
  close: number
  permanent_dismiss: number
}

/** How often a session was shown a stage on one day. Nothing leads from here to an event. */
export interface StageSessionRow {
  /** The midnight (UTC) after the next day: a finer time would lead to the events of that moment. */
  expires_at: number
  /** A digest of the cookie, which itself is nowhere. */
  session: string
  popup_id: string
  shows: number
}
