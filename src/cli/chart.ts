/** A labelled value of a chart. */
export interface ChartPoint {
  label: string
  value: number
}

/** Whether a chart of these points shows more than one bar. */
export function isWorthDrawing(points: readonly ChartPoint[]): boolean {
  return points.filter(({ value }) => value > 0).length > 1
}

const eighths = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']

/**
 * Draws a column chart as lines of text, the newest point on the right, with the first and last label beneath. Adjacent points are
 * added up if there are more points than columns; few points get several columns each.
 *
 * @param width total width in cells, including the scale
 * @param height height of the columns in lines
 */
export function drawChart(
  points: readonly ChartPoint[],
  { width, height }: { width: number; height: number },
): string[] {
  if (points.length === 0) return []
  let merged: readonly ChartPoint[] = points
  // The width of the scale depends on the highest sum, which depends on how many points are merged.
  for (let columns = 0; merged.length > (columns = columnsBesideScale(merged, width));)
    merged = merge(points, Math.min(columns, merged.length - 1))
  const most = highest(merged)
  const scale = String(most).length + 1
  const thick = Math.max(1, Math.min(6, Math.floor((width - scale - 2) / merged.length)))
  const lines = Array.from({ length: height }, (_, line) => {
    const floor = (height - 1 - line) * 8
    const columns = merged.map(
      ({ value }) => eighths[Math.max(0, Math.min(8, toEighths(value, most, height) - floor))]!,
    )
    const mark = line === 0 ? String(most) : line === height - 1 ? '0' : ''
    return `${mark.padStart(scale)} ┤${columns.map((column) => column.repeat(Math.max(1, thick - 1)) + (thick > 1 ? ' ' : '')).join('')}`.trimEnd()
  })
  const first = merged[0]!.label
  const last = merged.at(-1)!.label
  const gap = merged.length * thick - first.length - last.length
  const under =
    merged.length === 1 || gap < 1 ? `${first}${first === last ? '' : ` … ${last}`}` : first + ' '.repeat(gap) + last
  return [...lines, `${' '.repeat(scale)}  ${under}`]
}

function highest(points: readonly ChartPoint[]): number {
  return Math.max(...points.map(({ value }) => value))
}

/** Columns available beside the scale, at least eight. */
function columnsBesideScale(points: readonly ChartPoint[], width: number): number {
  return Math.max(8, width - String(highest(points)).length - 3)
}

/** Height of a column in eighths of a line. A value above 0 is always visible. */
function toEighths(value: number, most: number, height: number): number {
  return value === 0 ? 0 : Math.max(1, Math.round((value / most) * height * 8))
}

/** Adds up adjacent points until at most `most` remain, each under the label of its first point. */
function merge(points: readonly ChartPoint[], most: number): ChartPoint[] {
  const each = Math.ceil(points.length / most)
  const merged: ChartPoint[] = []
  for (let from = 0; from < points.length; from += each) {
    const group = points.slice(from, from + each)
    merged.push({ label: group[0]!.label, value: group.reduce((sum, { value }) => sum + value, 0) })
  }
  return merged
}
