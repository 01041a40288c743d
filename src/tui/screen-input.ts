import type { TabView } from './panel.ts'
import type { View } from './view.ts'

/** Everything that the screen is drawn from. */
export interface ScreenInput {
  columns: number
  rows: number
  /** What is watched: the source's name. */
  name: string
  tabs: readonly { id: string; title: string }[]
  view: View
  shown: TabView
  /** What `q` does, in a few words. */
  leaving: string
  /** Monotonic milliseconds, as in the view. */
  now: number
  /** Milliseconds since the epoch, for the clock. */
  time: number
}
