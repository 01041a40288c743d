import { formatCount } from '../lib/format.ts'
import { scrollTo } from './layout.ts'
import type { Panel, Row } from './panel.ts'
import { fitLine, lineWidth, span, spread, type Line, type Span } from './text/line.ts'
import type { View } from './view.ts'

export interface PanelInput {
  panel: Panel
  /** The rows that the filter shows. */
  rows: readonly Row[]
  /** Index of the selected row; null if the panel has no focus. */
  selected: number | null
  width: number
  height: number
  view: Pick<View, 'filter' | 'errorsOnly'>
  /** Replaces the panel's title line. */
  title: Line | null
}

/** Renders a list with its title in exactly `height` lines. */
export function panelLines({ panel, rows, selected, width, height, view, title }: PanelInput): Line[] {
  const heads = panel.head === undefined || rows.length === 0 || height < leastWithHead ? [] : [panel.head]
  const room = height - 1 - heads.length
  const first = scrollTo(selected ?? 0, rows.length, room)
  const seen = rows.slice(first, first + room)
  const position =
    rows.length > room
      ? `${formatCount(first + 1)}–${formatCount(first + seen.length)} of ${formatCount(rows.length)}`
      : ''
  const notes = [...filterNotes(view), ...(position === '' ? [] : [position])]
  const head = title ?? [...rule(2, selected !== null), titleSpan(panel, selected !== null)]
  const lines = seen.map((row, index) => rowLine(row, selected === first + index, width))
  // The rows of a search are only those that it found.
  const filtered = panel.rows.length > 0 || view.filter.trim() !== ''
  const empty: Line[] =
    rows.length > 0 ? [] : [[span(`  ${filtered ? 'No row matches the filter.' : panel.empty}`, 'dim')]]
  return [
    ruled(head, notes, width, selected !== null),
    ...heads.map((columns) => headLine(columns(width - 3), width)),
    ...fill([...lines, ...empty], room),
  ]
}

/** All titles in one line, for a screen that shows only the focused list. */
export function titlesLine(panels: readonly Panel[], focus: number, width: number): Line {
  const titles = panels.flatMap((panel, index) => [
    ...rule(index === 0 ? 2 : 1, true),
    titleSpan(panel, index === focus),
  ])
  return lineWidth(titles) <= width ? titles : [...rule(2, true), titleSpan(panels[focus]!, true)]
}

function titleSpan({ title, total, rows }: Panel, focused: boolean): Span {
  const count = total ?? rows.length
  const text = `${title}${count > 0 ? ` ${formatCount(count)}` : ''}`
  return focused ? span(` ${text} `, 'accent') : span(` ${text} `, 'dim')
}

function filterNotes({ filter, errorsOnly }: Pick<View, 'filter' | 'errorsOnly'>): string[] {
  return [...(errorsOnly ? ['errors only'] : []), ...(filter.trim() === '' ? [] : [`filter: ${filter}`])]
}

function rule(length: number, focused: boolean): Line {
  return [span((focused ? '━' : '─').repeat(Math.max(0, length)), focused ? 'accent' : 'dim')]
}

/** A title line filled with a rule, with notes at its end. */
function ruled(head: Line, notes: readonly string[], width: number, focused: boolean): Line {
  const right: Line =
    notes.length === 0
      ? rule(1, focused)
      : [span(` ${notes.join(' · ')} `, focused ? 'strong' : 'dim'), ...rule(1, focused)]
  const between = width - lineWidth(head) - lineWidth(right)
  return between < 0 ? spread(head, [], width) : [...head, ...rule(between, focused), ...right]
}

/** A list this low has no line for the names of its columns. */
const leastWithHead = 5

function headLine(line: Line, width: number): Line {
  return [span('  '), ...fitLine(line, width - 3).map(({ text }) => span(text, 'dim')), span(' ')]
}

function rowLine(row: Row, selected: boolean, width: number): Line {
  const line = fitLine(row.line(width - 3), width - 3)
  return selected
    ? [span('› ', 'accent'), ...line.map((each) => (isBar(each) ? each : span(each.text, 'selected'))), span(' ')]
    : [span('  '), ...line, span(' ')]
}

/** A bar that is inverted would look like its opposite. */
function isBar({ text }: Span): boolean {
  return /^[\u2588-\u258f]+ *$/.test(text)
}

function fill(lines: readonly Line[], height: number): Line[] {
  return Array.from({ length: height }, (_, index) => lines[index] ?? [])
}
