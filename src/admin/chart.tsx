import { useEffect, useMemo, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { formatValue, toData, type Line } from './chart-data.ts'
import { optionsOf, type Form } from './chart-options.ts'
import { formatTime, timeZone } from './format.ts'

/** Height of a chart without its legend, in CSS pixels. */
const height = 200

/**
 * Values over time as bars (stacked on each other, where there are several lines) or lines, with the same figures in a table for screen
 * readers. Nothing is drawn in the future.
 *
 * @param at seconds since the epoch, ascending
 */
export function TimeChart({
  caption,
  at,
  lines,
  bars = false,
  unit = 'count',
}: {
  caption: string
  at: readonly number[]
  lines: readonly Line[]
} & Partial<Form>) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const now = Date.now() / 1000
  const past = useMemo(() => at.filter((moment) => moment <= now), [at])
  const shape = lines.map((line) => line.name).join('\n')
  const drawn = useRef({ at, lines })
  drawn.current = { at, lines }
  useEffect(() => {
    const room = place.current!
    const options = optionsOf(room, () => drawn.current, { bars, unit })
    const made = new uPlot(
      { ...options, width: Math.max(200, room.clientWidth), height },
      toData(at, lines, bars, now),
      room,
    )
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: room.clientWidth, height }))
    observer.observe(room)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => made.redraw(false, true)
    scheme.addEventListener('change', redraw)
    return () => {
      scheme.removeEventListener('change', redraw)
      observer.disconnect()
      made.destroy()
    }
  }, [shape, bars, unit])
  useEffect(() => plot.current?.setData(toData(at, lines, bars, now)), [at, lines])
  return (
    <figure class={bars ? 'chart bars' : 'chart'}>
      <figcaption>{caption}</figcaption>
      <div ref={place} aria-hidden="true" />
      <details>
        <summary>Show as table</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={`${caption}, as a table`}>
          <table>
            <caption class="unseen">{caption}</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {lines.map((line) => (
                  <th key={line.name} scope="col" class="number">
                    {line.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {past.map((moment, index) => (
                <tr key={moment}>
                  <th scope="row">
                    {formatTime(moment * 1000)} {timeZone}
                  </th>
                  {lines.map((line) => (
                    <td key={line.name} class="number">
                      {formatValue(line.values[index] ?? null, unit)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  )
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
