const levels = '▁▂▃▄▅▆▇█'
const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar of exactly `width` cells in steps of an eighth of a cell; full only at 100 %. */
export function bar(percentage: number, width: number): { done: string; open: string } {
  const whole = width * 8
  const filled = percentage >= 100 ? whole : Math.min(whole - 1, Math.max(0, Math.floor((whole * percentage) / 100)))
  const done = '█'.repeat(Math.floor(filled / 8)) + eighths[filled % 8]
  return { done, open: '░'.repeat(width - done.length) }
}

/** A value as one of eight heights, of which `most` is the highest. Zero is a blank, so that a pause is visible. */
export function level(value: number, most: number): string {
  if (value <= 0 || most <= 0) return ' '
  return levels[Math.min(levels.length - 1, Math.ceil((value / most) * levels.length) - 1)]!
}

/** The latest `width` values of a series, oldest first, filled with blanks at the beginning. */
export function sparkline(values: readonly number[], width: number): string {
  const shown = values.slice(-width)
  const most = Math.max(...shown, 0)
  return shown
    .map((value) => level(value, most))
    .join('')
    .padStart(width)
}
