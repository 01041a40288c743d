import type { Block, TabView } from './panel.ts'
import { span, type Line, type Span } from './text/line.ts'
import { padEnd } from './text/width.ts'

/** Makes a block of lines above the lists. Blocks of a higher rank are dropped first. `rows`: the height of the terminal. */
export function block(rank: number, lines: (width: number, rows: number) => readonly Line[]): Block {
  return { rank, lines }
}

/** An empty line, which is dropped first. */
export const gap: Block = block(9, () => [[]])

/** Width of the label at the start of each line, in cells. */
export const labelWidth = 9

export function label(text: string): Span {
  return span(padEnd(text, labelWidth), 'dim')
}

/** A tab that shows only a text, while it waits for values or has none. */
export function emptyView(text: string, stale: string | null): TabView {
  return { blocks: [block(0, () => [[span(text, 'dim')]])], panels: [], stale, run: null, short: text }
}
