import type { Line } from './text/line.ts'

/** The details of a row, which `enter` shows. */
export interface Detail {
  title: string
  /** The page of the row, which is inspected too; null for a row without one. */
  url: string | null
  facts: readonly (readonly [name: string, value: string])[]
  /** What `y` copies; default: the URL, or the text of the row. */
  copied?: string
}

/** One row of a list. */
export interface Row {
  /** Stays the same when the row moves. */
  id: string
  line(width: number): Line
  /** The text that a filter searches. */
  text: string
  status: number | null
  ms: number | null
  /** Whether `errors only` shows it. */
  bad: boolean
  detail: Detail
}

/** A list with a title. */
export interface Panel {
  id: string
  title: string
  /** Total number if `rows` holds only some of them. */
  total: number | null
  rows: readonly Row[]
  /** Names of the columns, laid out as the rows are. */
  head?(width: number): Line
  /** Text of an empty list. */
  empty: string
}

/** Lines above the lists. On a small screen, blocks of the highest rank are dropped. */
export interface Block {
  rank: number
  lines(width: number, rows: number): readonly Line[]
}

/** What a tab shows. */
export interface TabView {
  blocks: readonly Block[]
  panels: readonly Panel[]
  /** Whether the first list takes the whole width. */
  lead?: boolean
  /** The badge of stale values; null while they are current. */
  stale: string | null
  /** The run that the keys p, r and c act on. */
  run: { id: string; status: 'running' | 'paused' | 'completed' | 'cancelled' | 'failed' } | null
  /** A summary in one line, for a tiny terminal. */
  short: string
}
