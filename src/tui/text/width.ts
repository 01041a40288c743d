import { printable } from '../../lib/printable.ts'

// What a terminal draws over the cell before, and what takes two cells (Unicode TR 11 W and F, and emoji).
const narrow = /^[\u0020-\u007e]*$/
const zero = /^[\p{Mn}\p{Me}\p{Cf}]$/u
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u

/** Cells of a terminal that a text takes. */
export function cells(text: string): number {
  if (narrow.test(text)) return text.length
  let sum = 0
  for (const character of text) sum += cellsOf(character)
  return sum
}

function cellsOf(character: string): number {
  if (zero.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

/** The beginning of a text that takes at most so many cells. */
function head(text: string, width: number): string {
  let taken = 0
  let end = 0
  for (const character of text) {
    taken += cellsOf(character)
    if (taken > width) break
    end += character.length
  }
  return text.slice(0, end)
}

function tail(text: string, width: number): string {
  let taken = 0
  let start = text.length
  for (const character of [...text].toReversed()) {
    taken += cellsOf(character)
    if (taken > width) break
    start -= character.length
  }
  return text.slice(start)
}

/** A text from anywhere, safe for a terminal and at most `width` cells; what is cut off at the end shows as `…`. */
export function cut(text: string, width: number): string {
  const safe = printable(text)
  if (cells(safe) <= width) return safe
  return width < 1 ? '' : `${head(safe, width - 1)}…`
}

/** The same, cut in the middle: of a URL the host says little and the end a lot. */
export function cutMiddle(text: string, width: number): string {
  const safe = printable(text)
  if (cells(safe) <= width) return safe
  if (width < 5) return cut(safe, width)
  const front = Math.floor((width - 1) / 3)
  return `${head(safe, front)}…${tail(safe, width - 1 - front)}`
}

/** Cut or filled with blanks at the end to exactly `width` cells. */
export function padEnd(text: string, width: number): string {
  const fitting = cut(text, width)
  return fitting + ' '.repeat(Math.max(0, width - cells(fitting)))
}

/** The same with the blanks before it, for numbers. */
export function padStart(text: string, width: number): string {
  const fitting = cut(text, width)
  return ' '.repeat(Math.max(0, width - cells(fitting))) + fitting
}

/** Lines of at most `width` cells, broken at blanks where there are some. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let rest = printable(text)
  while (cells(rest) > width && width > 0) {
    const front = head(rest, width)
    // A break in the first third would leave more holes than it saves words.
    const blank = front.lastIndexOf(' ')
    const end = blank > width / 3 ? blank : front.length
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}
