import type { EventType, Stage } from './stage.ts'

/** One thing that a visitor did, as far as it may be known here: no address, no agent. */
export interface TrackedEvent {
  popupId: string
  type: EventType
  salesChannelId: string
  customerId: string | null
  pageType: string | null
  requestUrl: string | null
  /** Milliseconds since the epoch. */
  at: number
  /** Digest of the session whose shows are counted; impressions alone have one. It is never stored with the event. */
  session: string | null
  /** False for bots and prefetches: the stage is looked up, and that is all. */
  counted: boolean
}

/**
 * `shown_once`: recorded, and the visitor is not to see the stage again. `ignored`: the stage does not record, or the event is not
 * counted.
 */
export type Outcome = 'recorded' | 'shown_once' | 'ignored' | 'unknown'

/** Who asks which stages to show. */
export interface ActiveQuestion {
  salesChannelId: string
  /** Null: the page does not say; stages for certain types alone are not shown on it. */
  pageType: string | null
  /** Digest; null for a visitor without a session. */
  session: string | null
  /** Ids of the stages that this visitor does not want, or may not, see again. */
  hidden: string[]
}

/** What a visitor's browser is told of a stage. */
export type ActiveStage = Pick<Stage, 'id' | 'statsEnabled' | 'frequency' | 'maxPerSession' | 'content'>

/** What goes to the thread at once, and what comes back. */
export interface Batch {
  events: TrackedEvent[]
  questions: ActiveQuestion[]
}

export interface BatchAnswer {
  outcomes: Outcome[]
  active: ActiveStage[][]
}
