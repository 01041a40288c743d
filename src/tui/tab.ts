import type { PlannedValue } from './feed.ts'
import type { TabView } from './panel.ts'
import type { FeedPlans, Feeds } from './poller.ts'
import type { Asked } from './view.ts'

/** Input of a tab. `now`: monotonic milliseconds, as in the feeds; `time`: milliseconds since the epoch. */
interface TabInput {
  feeds: Feeds
  asked: Asked | null
  now: number
  time: number
}

/** Latest value of each planned operation; null before the first. */
type Values<Plans extends FeedPlans> = { readonly [Name in keyof Plans]: PlannedValue<Plans[Name]> | null }

/** One page of the monitor: the operations that it polls, and the view of their values. */
export interface Tab<Plans extends FeedPlans = FeedPlans> {
  id: string
  title: string
  plans: Plans
  /** The plans while a filter is typed or set: those of a list that the daemon filters. Default: `plans`. */
  search?(filter: string): Plans
  view(input: TabInput): TabView
}

/** A tab whose view gets its values typed by the plans. */
export function defineTab<Plans extends FeedPlans>(
  tab: Omit<Tab<Plans>, 'view'> & { view(input: TabInput & { values: Values<Plans> }): TabView },
): Tab<Plans> {
  const names = Object.keys(tab.plans)
  return {
    ...tab,
    view(input) {
      // The poller stores under each name the value of the operation that was planned under it.
      const values = Object.fromEntries(names.map((name) => [name, input.feeds[name]?.value ?? null])) as Values<Plans>
      return tab.view({ ...input, values })
    },
  }
}
