import type { EventType, Stage } from './stage.ts'

/** An act of a visitor. It has no address or user agent, and its session is not stored, so that nothing links an event to a visit. */
export interface TrackedEvent {
  popupId: string
  type: EventType
  salesChannelId: string
  customerId: string | null
  pageType: string | null
  requestUrl: string | null
  /** Milliseconds since the epoch. */
  at: number
  /** Digest of the session whose shows are counted, for impressions only. Never stored with the event. */
  session: string | null
  /** False for bots and prefetches, which are not recorded. */
  counted: boolean
}

/**
 * `shown_once`: recorded, and the stage is not shown to this visitor again. `ignored`: the stage does not record, or the event is not
 * counted. `unknown`: there is no such stage.
 */
export type TrackOutcome = 'recorded' | 'shown_once' | 'ignored' | 'unknown'

/** Selects the stages that may be shown to one visitor. */
export interface ActiveStageQuery {
  salesChannelId: string
  /** Null if the page does not declare its type; stages limited to certain types are then not shown. */
  pageType: string | null
  /** Digest of the session; null for a visitor without one. */
  session: string | null
  /** Ids of stages that the visitor dismissed permanently or has seen as often as allowed. */
  hidden: string[]
}

/** Selects one stage for an operator, whether it may be shown to visitors or not. */
export interface PreviewQuery {
  preview: string
}

export type StageQuery = ActiveStageQuery | PreviewQuery

/** The fields of a stage that are sent to a visitor's browser. */
export interface ActiveStage extends Pick<
  Stage,
  'id' | 'statsEnabled' | 'frequency' | 'maxPerSession' | 'content' | 'look' | 'trigger'
> {
  /** Milliseconds until its time window ends, because the browser's clock may be wrong; null: no end. */
  endsIn: number | null
}

/** One message to the thread. */
export interface Batch {
  events: TrackedEvent[]
  queries: StageQuery[]
}

/** The thread's reply: an outcome for each event, and the stages for each query. */
export interface BatchResult {
  outcomes: TrackOutcome[]
  active: ActiveStage[][]
}
