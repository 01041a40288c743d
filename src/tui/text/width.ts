import cliTruncate from 'cli-truncate'
import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import { printable, readableUrl } from '../../lib/safe-text.ts'

const ascii = /^[\u0020-\u007e]*$/

/** Width of a text on a terminal, in cells. */
export function cells(text: string): number {
  // Almost every text is ASCII, and a screen measures thousands of them.
  return ascii.test(text) ? text.length : stringWidth(text)
}

/** Text made safe for a terminal and truncated at its end, with `…`, to at most `width` cells. */
export function cut(text: string, width: number): string {
  return truncate(printable(text), width)
}

/** URL or path made safe for a terminal and truncated in the middle: its end says more than its host. */
export function cutMiddle(text: string, width: number): string {
  const safe = printable(text)
  if (cells(safe) <= width) return safe
  if (width < 5) return truncate(safe, width)
  const front = truncate(safe, Math.floor((width - 1) / 3) + 1)
  return front + truncate(safe, width - cells(front), 'start', '')
}

/** URL decoded for reading, and truncated in the middle to at most `width` cells. */
export function cutUrl(url: string, width: number): string {
  return cutMiddle(readableUrl(url), width)
}

function truncate(text: string, width: number, position: 'start' | 'end' = 'end', truncationCharacter = '…'): string {
  if (cells(text) <= width) return text
  return width < 1 ? '' : cliTruncate(text, width, { position, truncationCharacter })
}

/** Text truncated or padded at its end to exactly `width` cells. */
export function padEnd(text: string, width: number): string {
  const fitting = cut(text, width)
  return fitting + ' '.repeat(Math.max(0, width - cells(fitting)))
}

/** Text truncated or padded at its start to exactly `width` cells, for numbers. */
export function padStart(text: string, width: number): string {
  const fitting = cut(text, width)
  return ' '.repeat(Math.max(0, width - cells(fitting))) + fitting
}

/** Lines of at most `width` cells, broken at spaces where possible. */
export function wrap(text: string, width: number): string[] {
  return wrapAnsi(printable(text), Math.max(1, width), { hard: true }).split('\n')
}
