import type { Line } from './text/line.ts'

/** What `enter` shows of a row. */
export interface Detail {
  title: string
  /** The page that it is about; what the cache says of it is asked for and shown too. */
  url: string | null
  facts: readonly (readonly [name: string, value: string])[]
}

/** One row of a list. */
export interface Row {
  /** Stable while the row moves up and down. */
  id: string
  line(width: number): Line
  /** What a filter looks into. */
  text: string
  status: number | null
  ms: number | null
  /** Whether `errors only` leaves it in. */
  bad: boolean
  detail: Detail
}

/** A list with a title. */
export interface Panel {
  id: string
  title: string
  /** How many there are altogether, where the rows are only some of them. */
  total: number | null
  rows: readonly Row[]
  /** What stands there while there are no rows. */
  empty: string
}

/** Lines above the lists. Where the screen has no room for all, those of the highest rank are left out. */
export interface Block {
  rank: number
  lines(width: number): readonly Line[]
}

/** What a tab shows at one moment. */
export interface TabView {
  blocks: readonly Block[]
  panels: readonly Panel[]
  /** The first list wants the whole width. */
  lead?: boolean
  /** Why what is shown may be old; null while it is not. */
  stale: string | null
  /** The run that p, r and c are about. */
  run: { id: string; status: 'running' | 'paused' | 'completed' | 'cancelled' | 'failed' } | null
  /** One line that says it all, for a screen that has no room for more. */
  short: string
}
