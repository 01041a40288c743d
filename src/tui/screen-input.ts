import type { TabView } from './panel.ts'
import type { View } from './view.ts'

/** Input of the renderer. */
export interface ScreenInput {
  columns: number
  rows: number
  /** Name of the watched source. */
  name: string
  tabs: readonly { id: string; title: string }[]
  view: View
  shown: TabView
  /** Hint for `q`. */
  leaving: string
  /** Whether the client may change anything. */
  mayWrite: boolean
  /** Monotonic milliseconds, as in the view. */
  now: number
  /** Milliseconds since the epoch, for the clock. */
  time: number
}
