import uPlot from 'uplot'
import { axisLabel, formatValue, incrementsOf, topOf, type Line, type Unit } from './chart-data.ts'
import { timeZone } from './format.ts'

export interface Form {
  /** Bars instead of lines. */
  bars: boolean
  unit: Unit
}

/** Colours of the lines: custom properties of the style sheet, so that they follow the light and dark theme. */
const colours = ['--line-1', '--line-2', '--line-3', '--line-4']

/** @param drawn what is drawn at the moment */
export function optionsOf(
  place: HTMLElement,
  drawn: () => { at: readonly number[]; lines: readonly Line[] },
  { bars, unit }: Form,
): Omit<uPlot.Options, 'width' | 'height'> {
  const colour = (name: string) => () => getComputedStyle(place).getPropertyValue(name)
  const axis = { stroke: colour('--soft'), grid: { stroke: colour('--rule'), width: 1 }, ticks: { show: false } }
  const { lines } = drawn()
  const series = lines.map((_, index): uPlot.Series => {
    // The series of stacked bars are in reverse order.
    const line = bars ? lines.length - 1 - index : index
    const paint = colour(colours[line % colours.length]!)
    return {
      label: lines[line]!.name,
      stroke: paint,
      width: bars ? 0 : 2,
      points: { show: !bars, size: 5 },
      // Nothing while the pointer is elsewhere.
      value: (_, __, ___, moment) =>
        moment === null ? '' : formatValue(drawn().lines[line]?.values[moment] ?? null, unit),
      ...(bars ? { fill: paint, paths: uPlot.paths.bars!({ size: [0.8, 48] }) } : {}),
    }
  })
  return {
    legend: { show: true, markers: { width: 0, fill: (_, index) => paintOf(series[index - 1], place) } },
    cursor: { y: false, points: { show: !bars } },
    tzDate: (moment) => uPlot.tzDate(new Date(moment * 1000), timeZone),
    scales: {
      x: { range: (_, first, last) => (bars ? withRoom(first, last, drawn().at) : [first, last]) },
      y: { range: (_, __, highest) => [0, topOf(unit, highest)] },
    },
    axes: [
      { ...axis, values: (_, moments) => moments.map(labelOf(moments)), space: 70, size: 32 },
      {
        ...axis,
        incrs: incrementsOf(unit),
        values: (_, values) => values.map((value) => axisLabel(value, unit)),
        size: (_, labels) => 16 + 7 * Math.max(4, ...(labels ?? []).map((label) => label.length)),
      },
    ],
    series: [
      { label: 'Time', value: (_, moment) => (moment === null ? '' : legendTime.format(moment * 1000)) },
      ...series,
    ],
  }
}

function paintOf(series: uPlot.Series | undefined, place: HTMLElement): string {
  const stroke = series?.stroke
  return typeof stroke === 'function' ? String((stroke as () => unknown)()) : getComputedStyle(place).color
}

/** Widens the axis: bars are centred on their times, so the first and the last would be cut in half. */
function withRoom(first: number, last: number, at: readonly number[]): [number, number] {
  const half = ((at[1] ?? 60) - (at[0] ?? 0)) / 2
  return [first - half, last + half]
}

const second = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone })
const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone })
const legendTime = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZone,
})

/** Formats labels just precisely enough to tell them apart. */
function labelOf(moments: readonly number[]): (moment: number) => string {
  const apart = (moments[1] ?? 0) - (moments[0] ?? 0)
  return (moment) => (apart >= 86_400 ? day : apart >= 60 ? timeOfDay : second).format(moment * 1000)
}
