import type { TabView } from './panel.ts'
import type { FeedPlans, Feeds } from './poller.ts'
import type { Asked } from './view.ts'

/** Everything that a tab is drawn from. `now`: monotonic milliseconds, as in the feeds; `time`: milliseconds since the epoch. */
interface TabInput {
  feeds: Feeds
  asked: Asked | null
  now: number
  time: number
}

/** One page of the monitor: what it asks for, and what it makes of the answers. */
export interface Tab {
  id: string
  title: string
  plans: FeedPlans
  view(input: TabInput): TabView
}
