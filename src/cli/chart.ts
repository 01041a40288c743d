/** One column of a chart: what it stands for, and how much. */
export interface ChartPoint {
  label: string
  value: number
}

const eighths = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']

/**
 * A column chart as lines of text, the newest on the right, its first and last label beneath. Neighbours are added up where there are
 * more points than columns; few points take several columns each.
 *
 * @param width columns of the whole, its scale on the left included
 * @param height lines of the columns
 */
export function drawChart(
  points: readonly ChartPoint[],
  { width, height }: { width: number; height: number },
): string[] {
  if (points.length === 0) return []
  let merged: readonly ChartPoint[] = points
  // The scale is as wide as the highest sum, which is known when neighbours are added up.
  for (let room = 0; merged.length > (room = roomBeside(merged, width));)
    merged = merge(points, Math.min(room, merged.length - 1))
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

/** Columns that are left beside the scale, eight at least. */
function roomBeside(points: readonly ChartPoint[], width: number): number {
  return Math.max(8, width - String(highest(points)).length - 3)
}

/** Whatever is not nothing can be seen. */
function toEighths(value: number, most: number, height: number): number {
  return value === 0 ? 0 : Math.max(1, Math.round((value / most) * height * 8))
}

/** At most so many points: neighbours are added up, under the label of the first. */
function merge(points: readonly ChartPoint[], most: number): ChartPoint[] {
  const each = Math.ceil(points.length / most)
  const merged: ChartPoint[] = []
  for (let from = 0; from < points.length; from += each) {
    const group = points.slice(from, from + each)
    merged.push({ label: group[0]!.label, value: group.reduce((sum, { value }) => sum + value, 0) })
  }
  return merged
}
