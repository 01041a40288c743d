import { label, labelWidth } from './block.ts'
import { areaChart } from './text/chart.ts'
import { span, type Line, type Tone } from './text/line.ts'
import { padEnd } from './text/width.ts'

/** Width from which charts have several lines. */
export const chartsFrom = 110
/** Lines of a chart, without its name. Tall terminals have room for more. */
function heightIn(rows: number): number {
  return Math.max(5, Math.floor((rows - 10) / 5))
}

interface Chart {
  name: string
  /** Oldest first. */
  values: readonly number[]
  /** The value at the top. */
  most: number
  tone: Tone
}

/** Charts side by side, each below its name. `rows`: the height of the terminal. */
export function chartLines(title: string, charts: readonly Chart[], width: number, rows: number): Line[] {
  const height = heightIn(rows)
  const room = Math.floor((width - labelWidth - gap.length * (charts.length - 1)) / charts.length)
  const drawn = charts.map(({ values, most }) => areaChart(values, room, height, most))
  const apart = (index: number) => span(index === 0 ? '' : gap)
  return [
    [label(title), ...charts.flatMap(({ name }, index) => [apart(index), span(padEnd(name, room), 'dim')])],
    ...Array.from({ length: height }, (_, row) => [
      label(''),
      ...charts.flatMap(({ tone }, index) => [apart(index), span(drawn[index]![row]!, tone)]),
    ]),
  ]
}

const gap = '   '
