import { visibleRows } from './filter.ts'
import { cancelQuestion, footLine } from './foot.ts'
import { detailLines, helpLines } from './overlays.ts'
import { toLayout, type Area } from './layout.ts'
import type { KeyContext } from './keys.ts'
import { panelLines, titlesLine } from './panel-lines.ts'
import type { Panel, Row } from './panel.ts'
import type { ScreenInput } from './screen-input.ts'
import { beside, fitLine, lineWidth, span, spread, type Line } from './text/line.ts'
import { timeOfDay } from './text/amount.ts'
import { cells } from './text/width.ts'
import { focusOf, placeOf, selectedIndex, type View } from './view.ts'

/** Renders the whole screen: exactly one line for each terminal row, none wider than the terminal. */
export function toScreen(input: ScreenInput): Line[] {
  const { columns, rows, tabs, view, shown } = input
  // The last column stays free: a line that fills it wraps on some terminals.
  const width = columns - 1
  const tabId = tabs[view.tab]!.id
  const focus = focusOf(view, tabId, shown.panels.length)
  const blocks = shown.blocks.map(({ rank, lines }) => ({ rank, lines: lines(width - 1, rows) }))
  const layout = toLayout(columns, rows, height(blocks), shown.panels.length, focus, shown.lead)
  if (layout.kind === 'one-line') return oneLine(input, Math.max(1, width))
  const context: KeyContext = {
    status: shown.run?.status ?? null,
    tabs: tabs.length,
    panels: shown.panels.length,
    mayWrite: input.mayWrite,
    frozen: view.frozen !== null,
  }
  const body = overlay(input, width, rows - 2, context) ?? [
    ...fitBlocks(blocks, layout.summary).map((line) => [span(' '), ...line]),
    ...areaLines(layout.areas, (area) => {
      const panel = shown.panels[area.panel]!
      const shownRows = visibleRows(panel.rows, view.filter, view.errorsOnly)
      const focused = area.panel === focus
      const title = layout.arrangement === 'tabbed' ? titlesLine(shown.panels, focus, area.width - 1) : null
      return panelLines({
        panel,
        rows: shownRows,
        selected: focused ? selectedOf(view, tabId, panel, shownRows) : null,
        width: area.width === columns ? width : area.width,
        height: area.height,
        view,
        title,
      })
    }),
  ]
  const filled = Array.from({ length: rows - 2 }, (_, row) => body[row] ?? [])
  return [headLine(input, width), ...filled, footLine(input, width, context)].map((line) => fitLine(line, width))
}

/** One line for a tiny terminal; the other rows stay empty, so that the line is always at the top. */
function oneLine({ name, view, shown: { stale, short }, rows }: ScreenInput, width: number): Line[] {
  // A pending question is visible on the smallest terminal.
  const line =
    view.overlay.kind === 'confirm-cancel'
      ? cancelQuestion(name, width)
      : [span(stale === null ? short : `STALE ${short}`)]
  return Array.from({ length: Math.max(1, rows) }, (_, row) => fitLine(row > 0 ? [] : line, width))
}

function overlay({ view, columns }: ScreenInput, width: number, rows: number, context: KeyContext): Line[] | null {
  if (view.overlay.kind === 'help') return helpLines(width, rows, context, view.overlay.scroll)
  if (view.overlay.kind === 'detail') return detailLines(view.overlay, Math.min(columns, 120) - 2, rows)
  return null
}

function selectedOf(view: View, tabId: string, panel: Panel, rows: readonly Row[]): number {
  return selectedIndex(view, placeOf(tabId, panel.id), rows)
}

/** Tab titles; without room for all of them, inactive tabs show only their numbers. */
function tabSpans({ tabs, view }: Pick<ScreenInput, 'tabs' | 'view'>, width: number): Line {
  if (tabs.length === 1) return [span(` ${tabs[0]!.title.toLowerCase()}`, 'strong')]
  const spans = (short: boolean): Line =>
    tabs.flatMap(({ title }, index) => [
      span('  '),
      index === view.tab
        ? span(`[${index + 1} ${title}]`, 'accent')
        : span(short ? String(index + 1) : `${index + 1} ${title}`, 'dim'),
    ])
  return lineWidth(spans(false)) <= width ? spans(false) : spans(true)
}

/** The digit of the tab whose title is at a column (from 1) of the first row; null for none. */
export function tabAt(input: ScreenInput, column: number): string | null {
  let at = 0
  for (const { text } of headLine(input, input.columns - 1)) {
    const end = at + cells(text)
    const digit = /^\[?(\d)(?: |\]|$)/.exec(text)?.[1]
    if (digit !== undefined && column > at && column <= end) return digit
    at = end
  }
  return null
}

function headLine({ name, tabs, view, shown, time, now }: ScreenInput, width: number): Line {
  const clock = span(`${timeOfDay(time)} UTC`, 'dim')
  const badges: Line = [
    ...(view.frozen
      ? [span(`FROZEN ${Math.max(0, Math.round((now - view.frozen.at) / 1000))} s`, 'warn'), span('  ')]
      : []),
    ...(shown.stale === null ? [] : [span(shown.stale, 'bad'), span('  ')]),
  ]
  const title = span(' pagecache', 'strong')
  const left = [title, ...tabSpans({ tabs, view }, width - lineWidth([title, ...badges]) - 1)]
  const room = Math.max(0, width - lineWidth(left) - 1)
  // Warnings about stale data go before the titles of tabs, and these before the source name and the clock.
  const right = [
    [...badges, span(name, 'dim'), span('  '), clock],
    [...badges, clock],
  ].find((line) => lineWidth(line) <= room)
  return spread(left, right ?? fitLine(badges, room), width)
}

interface Drawn {
  rank: number
  lines: readonly Line[]
}

function height(blocks: readonly Drawn[]): number {
  return blocks.reduce((sum, { lines }) => sum + lines.length, 0)
}

/** Fits the blocks above the lists into a number of rows, dropping the least important ones. */
export function fitBlocks(blocks: readonly Drawn[], rows: number): Line[] {
  let kept = [...blocks]
  while (height(kept) > rows && kept.length > 0) {
    const least = Math.max(...kept.map(({ rank }) => rank))
    const index = kept.findLastIndex(({ rank }) => rank === least)
    kept = kept.toSpliced(index, 1)
  }
  const lines = kept.flatMap(({ lines: each }) => each)
  return [...lines, ...Array.from({ length: rows - lines.length }, () => [])]
}

/** Renders each area; areas on the same rows are placed side by side. */
function areaLines(areas: readonly Area[], draw: (area: Area) => Line[]): Line[] {
  const byRow = Map.groupBy(areas, ({ row }) => row)
  return [...byRow.values()].flatMap((line) => {
    const [left, right] = line
    if (!left) return []
    return right ? beside(draw(left), draw(right), left.width, ' ') : draw(left)
  })
}
