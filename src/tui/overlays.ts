import { readableUrl } from '../lib/safe-text.ts'
import { keyTable, type KeyContext } from './keys.ts'
import { span, type Line } from './text/line.ts'
import { padEnd, wrap } from './text/width.ts'
import type { Overlay } from './view.ts'

const keyColumn = 14

/** The help: every key of the table that is available. */
export function helpLines(width: number, rows: number, context: KeyContext, scroll = 0): Line[] {
  // Lists both p and r, whatever the state of the run.
  const bindings = keyTable.filter(
    ({ when }) =>
      when === undefined || when({ ...context, status: 'running' }) || when({ ...context, status: 'paused' }),
  )
  const lines = bindings.flatMap(({ keys, label, help }) => {
    const others = keys.filter((key) => key.length === 1 && key !== label && !label.includes(key))
    const names = others.length > 0 && label.length === 1 ? `${label} ${others.join(' ')}` : label
    return wrap(help, width - keyColumn - 3).map((text, index): Line => [
      span(padEnd(index === 0 ? `   ${names}` : '', keyColumn), 'accent'),
      span(text),
    ])
  })
  const title: Line[] = lines.length + 2 <= rows ? [[span(' Keys', 'strong')], []] : []
  return scrolled([...title, ...lines], scroll, rows)
}

/** The visible part of lines that may not fit; the last one stays at the bottom. */
function scrolled(lines: readonly Line[], scroll: number, rows: number): Line[] {
  const first = Math.min(scroll, Math.max(0, lines.length - rows))
  return lines.slice(first, first + rows)
}

/** The details of one row, wrapped, followed by the inspection of its URL. */
export function detailLines(
  { detail, inspection, scroll }: Extract<Overlay, { kind: 'detail' }>,
  width: number,
  rows: number,
): Line[] {
  const lines: Line[] = [[span(` ${detail.title}`, 'strong')], []]
  const names = Math.max(8, ...detail.facts.map(([name]) => name.length)) + 2
  const facts: (readonly [string, string])[] = [
    ...(detail.url === null ? [] : [['URL', readableUrl(detail.url)] as const]),
    ...detail.facts,
  ]
  for (const [name, value] of facts) {
    for (const [index, text] of wrap(value, width - names - 2).entries())
      lines.push([span(` ${padEnd(index === 0 ? name : '', names)} `, 'dim'), span(text)])
  }
  if (detail.url !== null) {
    lines.push([], [span(' In the cache now', 'strong')])
    for (const text of inspection ?? ['loading …'])
      lines.push(...wrap(text, width - 2).map((part): Line => [span(`   ${part}`)]))
  }
  return scrolled(lines, scroll, rows)
}
