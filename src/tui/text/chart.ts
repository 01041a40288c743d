const levels = '▁▂▃▄▅▆▇█'
const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar of exactly `width` cells in steps of an eighth of a cell; full only at 100 %. */
export function bar(percentage: number, width: number): { done: string; open: string } {
  const whole = width * 8
  const filled = percentage >= 100 ? whole : Math.min(whole - 1, Math.max(0, Math.floor((whole * percentage) / 100)))
  const done = '█'.repeat(Math.floor(filled / 8)) + eighths[filled % 8]
  return { done, open: '░'.repeat(width - done.length) }
}

/** A value as one of eight heights; `most` is the highest. Zero is a blank, which makes pauses visible. */
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

/** The dots of a braille cell from bottom to top, in its left and right column. */
const dots = [
  [0x40, 0x04, 0x02, 0x01],
  [0x80, 0x20, 0x10, 0x08],
] as const

/**
 * An area chart in braille dots, two columns and four rows a cell. A value above 0 has a dot at least. A series that is shorter than the chart is
 * drawn wider.
 *
 * @param most the value at the top
 */
export function areaChart(values: readonly number[], width: number, height: number, most: number): string[] {
  const columns = Array.from({ length: width * 2 }, (_, column) => {
    const value = values[Math.floor((column * values.length) / (width * 2))] ?? 0
    return value <= 0 || most <= 0 ? 0 : Math.max(1, Math.round((Math.min(value, most) / most) * height * 4))
  })
  return Array.from({ length: height }, (_, row) => {
    const below = (height - 1 - row) * 4
    return Array.from({ length: width }, (__, cell) => {
      const bits = dots.flatMap((side, index) =>
        side.filter((_dot, level) => columns[cell * 2 + index]! > below + level),
      )
      return String.fromCodePoint(0x2800 + bits.reduce((sum, bit) => sum + bit, 0))
    }).join('')
  })
}
