import { cells, cut } from './width.ts'

/** The meaning of a piece of text; the theme assigns the colour. No meaning is shown by colour alone. */
export type Tone = 'plain' | 'dim' | 'strong' | 'accent' | 'good' | 'warn' | 'bad' | 'selected'

export interface Span {
  text: string
  tone: Tone
}

/** One row of the screen. */
export type Line = readonly Span[]

export function span(text: string, tone: Tone = 'plain'): Span {
  return { text, tone }
}

const blank: Line = []

/** The width of a line in cells. */
export function lineWidth(line: Line): number {
  return line.reduce((sum, { text }) => sum + cells(text), 0)
}

/** A line of exactly `width` cells: truncated at its end or padded with blanks. */
export function fitLine(line: Line, width: number): Line {
  const fitted: Span[] = []
  let left = width
  for (const { text, tone } of line) {
    const short = cut(text, left)
    fitted.push({ text: short, tone })
    left -= cells(short)
    if (cells(text) > cells(short) || left <= 0) break
  }
  return left > 0 ? [...fitted, span(' '.repeat(left))] : fitted
}

/** Two lines in one row: `right` is flush right, and is dropped first when there is no room for both. */
export function spread(left: Line, right: Line, width: number): Line {
  const room = width - lineWidth(right)
  if (lineWidth(left) + 1 > room) return fitLine(left, width)
  return [...fitLine(left, room), ...right]
}

/** Joins parts with a separator; parts that do not fit are dropped from the end. */
export function join(parts: readonly Line[], width: number, separator = ' · '): Line {
  const joined: Span[] = []
  let left = width
  for (const part of parts) {
    const gap = joined.length > 0 ? separator : ''
    const needed = lineWidth(part) + cells(gap)
    if (needed > left) break
    if (gap !== '') joined.push(span(gap, 'dim'))
    joined.push(...part)
    left -= needed
  }
  return joined
}

/** Two blocks side by side, `gap` cells apart. */
export function beside(left: readonly Line[], right: readonly Line[], leftWidth: number, gap: string): Line[] {
  const rows = Math.max(left.length, right.length)
  return Array.from({ length: rows }, (_, row) => [
    ...fitLine(left[row] ?? blank, leftWidth),
    span(gap, 'dim'),
    ...(right[row] ?? blank),
  ])
}

/** The text of a line, for reports and tests. */
export function toText(line: Line): string {
  return line
    .map(({ text }) => text)
    .join('')
    .trimEnd()
}
