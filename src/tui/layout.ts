/** On a smaller terminal only one line is shown. */
const smallest = { columns: 60, rows: 15 }

/** Columns from which two lists are placed side by side. */
const twoColumnsFrom = 110
/** Fewest rows of a useful list, with its title. */
const leastPanel = 5
/** Up to this many rows, a list takes precedence over further lines above it. */
const goodPanel = 9

export interface Area {
  panel: number
  row: number
  column: number
  width: number
  height: number
}

export interface Layout {
  kind: 'one-line' | 'full'
  columns: number
  rows: number
  /** Rows for the lines above the lists. */
  summary: number
  /** `tabbed`: only the focused list is shown, under a line with all titles. */
  arrangement: 'tabbed' | 'stacked' | 'grid'
  areas: readonly Area[]
}

/**
 * Lays out the screen: one row for the head, one for the bottom line, the rest for the lines above the lists and for the
 * lists, which keep a minimum height.
 *
 * @param wanted rows of the lines above the lists
 * @param panels number of lists
 * @param lead whether the first list takes the whole width and more of the height; otherwise the last list of an odd number does
 */
export function toLayout(
  columns: number,
  rows: number,
  wanted: number,
  panels: number,
  focus: number,
  lead = false,
): Layout {
  if (columns < smallest.columns || rows < smallest.rows)
    return { kind: 'one-line', columns, rows, summary: 0, arrangement: 'tabbed', areas: [] }
  const body = rows - 2
  const least = rows >= 24 ? goodPanel : leastPanel
  const summary = panels === 0 ? Math.min(wanted, body) : Math.min(wanted, body - least)
  const area = { row: 1 + summary, column: 0, width: columns, height: body - summary }
  return { kind: 'full', columns, rows, summary, ...arrange(area, panels, focus, lead) }
}

function arrange(
  area: Omit<Area, 'panel'>,
  panels: number,
  focus: number,
  lead: boolean,
): Pick<Layout, 'arrangement' | 'areas'> {
  if (panels === 0) return { arrangement: 'stacked', areas: [] }
  if (panels === 1) return { arrangement: 'stacked', areas: [{ ...area, panel: 0 }] }
  const gridRows = Math.ceil((panels + (lead ? 1 : 0)) / 2)
  if (area.width >= twoColumnsFrom && area.height >= gridRows * leastPanel)
    return { arrangement: 'grid', areas: grid(area, panels, gridRows, lead) }
  if (area.height >= panels * goodPanel) return { arrangement: 'stacked', areas: stack(area, panels, lead) }
  return { arrangement: 'tabbed', areas: [{ ...area, panel: Math.min(focus, panels - 1) }] }
}

function stack(area: Omit<Area, 'panel'>, panels: number, lead: boolean): Area[] {
  const heights = lead ? splitLed(area.height, panels) : split(area.height, panels)
  return heights.map((height, panel) => ({ ...area, panel, height, row: area.row + sum(heights.slice(0, panel)) }))
}

/** Places two lists in a row; a list alone in its row takes the whole width. */
function grid(area: Omit<Area, 'panel'>, panels: number, gridRows: number, lead: boolean): Area[] {
  const heights = lead ? splitLed(area.height, gridRows) : split(area.height, gridRows)
  const left = Math.ceil((area.width - 1) / 2)
  // A leading list takes two slots: its own and the one next to it.
  const place = (panel: number) => (lead && panel > 0 ? panel + 1 : panel)
  return Array.from({ length: panels }, (_, panel) => {
    const line = Math.floor(place(panel) / 2)
    const base = { panel, row: area.row + sum(heights.slice(0, line)), height: heights[line]! }
    const alone = (lead && panel === 0) || (panel === panels - 1 && place(panel) % 2 === 0)
    if (alone) return { ...base, column: 0, width: area.width }
    return place(panel) % 2 === 0
      ? { ...base, column: 0, width: left }
      : { ...base, column: left + 1, width: area.width - left - 1 }
  })
}

/** Divides a number into equal parts; the remainder goes to the first ones. */
function split(whole: number, parts: number): number[] {
  return Array.from({ length: parts }, (_, part) => Math.floor(whole / parts) + (part < whole % parts ? 1 : 0))
}

/** Divides a height so that the first part gets as much as two others, as far as these keep a useful height. */
function splitLed(whole: number, parts: number): number[] {
  if (parts === 1) return [whole]
  const other = Math.max(Math.min(goodPanel, Math.floor(whole / parts)), Math.floor(whole / (parts + 1)))
  return [whole - other * (parts - 1), ...Array.from({ length: parts - 1 }, () => other)]
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** Index of the first visible row. The selected row stays in the middle, except near the ends of the list. */
export function scrollTo(selected: number, total: number, height: number): number {
  return Math.max(0, Math.min(total - height, selected - Math.floor(height / 2)))
}
