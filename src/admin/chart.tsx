import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

export interface Line {
  name: string
  /** One value for each entry of `at`. */
  values: readonly number[]
}

/** Height of a chart without its legend, in CSS pixels. */
const height = 180

/** Colours of the lines: custom properties of the style sheet, so that they follow the light and dark theme. */
const colours = ['--line-1', '--line-2', '--line-3', '--line-4']

/**
 * Counts over time as bars (one series) or lines, with the same figures in a table for screen readers.
 *
 * @param at seconds since the epoch, ascending
 */
export function TimeChart({
  caption,
  at,
  lines,
  bars = false,
}: {
  caption: string
  at: readonly number[]
  lines: readonly Line[]
  bars?: boolean
}) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const shape = lines.map((line) => line.name).join('\n')
  useEffect(() => {
    const room = place.current!
    const made = new uPlot(optionsOf(room, at, lines, bars), dataOf(at, lines), room)
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: room.clientWidth, height }))
    observer.observe(room)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => made.redraw()
    scheme.addEventListener('change', redraw)
    return () => {
      scheme.removeEventListener('change', redraw)
      observer.disconnect()
      made.destroy()
    }
  }, [shape, bars])
  useEffect(() => plot.current?.setData(dataOf(at, lines)), [at, lines])
  return (
    <figure class="chart">
      <div ref={place} aria-hidden="true" />
      <details>
        <summary>Show as table</summary>
        <table>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {lines.map((line) => (
                <th key={line.name} scope="col">
                  {line.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {at.map((moment, index) => (
              <tr key={moment}>
                <th scope="row">{new Date(moment * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC</th>
                {lines.map((line) => (
                  <td key={line.name} class="number">
                    {line.values[index] ?? 0}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  )
}

/** Widens the axis: bars are centred on their times, so the first and the last would be cut in half. */
function withRoom(first: number, last: number, at: readonly number[]): [number, number] {
  const half = ((at[1] ?? 0) - (at[0] ?? 0)) / 2
  return [first - half, last + half]
}

function optionsOf(place: HTMLElement, at: readonly number[], lines: readonly Line[], bars: boolean): uPlot.Options {
  const colour = (name: string) => () => getComputedStyle(place).getPropertyValue(name)
  const axis = { stroke: colour('--soft'), grid: { stroke: colour('--rule'), width: 1 }, ticks: { show: false } }
  return {
    width: Math.max(200, place.clientWidth),
    height,
    legend: { show: lines.length > 1 },
    cursor: { y: false },
    scales: {
      x: { range: (_, first, last) => (bars ? withRoom(first, last, at) : [first, last]) },
      y: { range: (_, __, highest) => [0, Math.max(4, highest * 1.1)] },
    },
    axes: [
      { ...axis, values: (_, moments) => moments.map(labelOf(moments)) },
      { ...axis, size: 48 },
    ],
    series: [
      {},
      ...lines.map((line, index): uPlot.Series => ({
        label: line.name,
        stroke: colour(colours[index % colours.length]!),
        width: 2,
        points: { show: false },
        ...(bars
          ? { fill: colour(colours[index % colours.length]!), paths: uPlot.paths.bars!({ size: [0.7, 40] }) }
          : {}),
      })),
    ],
  }
}

const second = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Formats labels just precisely enough to tell them apart. */
function labelOf(moments: readonly number[]): (moment: number) => string {
  const apart = (moments[1] ?? 0) - (moments[0] ?? 0)
  return (moment) => (apart >= 86_400 ? day : apart >= 60 ? timeOfDay : second).format(moment * 1000)
}

function dataOf(at: readonly number[], lines: readonly Line[]): uPlot.AlignedData {
  return [[...at], ...lines.map((line) => [...line.values])]
}

/** Shares of a whole with names and counts, readable without a legend or colours. */
export function ShareBars({
  caption,
  shares,
}: {
  caption: string
  shares: readonly { name: string; count: number }[]
}) {
  const most = Math.max(1, ...shares.map((share) => share.count))
  return (
    <table class="shares">
      <caption class="unseen">{caption}</caption>
      <tbody>
        {shares.map(({ name, count }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <meter min={0} max={most} value={count} aria-hidden="true" />
            </td>
            <td class="number">{count.toLocaleString('en')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
