import { formatBytes } from '../lib/format-bytes.ts'
import { formatCount, formatMs, formatRatio } from './format.ts'

export interface Line {
  name: string
  /** One value for each time; null: nothing was measured. */
  values: readonly (number | null)[]
}

export type Unit = 'count' | 'bytes' | 'ratio' | 'ms'

export function formatValue(value: number | null, unit: Unit): string {
  if (value === null) return '–'
  if (unit === 'count') return formatCount(value)
  if (unit === 'bytes') return formatBytes(value)
  return unit === 'ratio' ? formatRatio(value) : formatMs(value)
}

/** Times, and for each line its values. */
export type Drawn = [at: number[], ...values: (number | null)[][]]

/** What uPlot draws: nothing in the future, and bars on top of each other. `now` and `at` in seconds since the epoch. */
export function toData(at: readonly number[], lines: readonly Line[], bars: boolean, now: number): Drawn {
  const values = lines.map((line) =>
    at.map((moment, index) => (moment > now ? null : (line.values[index] ?? (bars ? 0 : null)))),
  )
  return [[...at], ...(bars ? stacked(values) : values)]
}

/** The first line is the lowest. uPlot draws in order, so that the sums come first and the lines below cover them. */
function stacked(values: readonly (number | null)[][]): (number | null)[][] {
  return values.map((line, index) =>
    line.map((value, moment) =>
      value === null
        ? null
        : values.slice(0, values.length - index).reduce((sum, each) => sum + (each[moment] ?? 0), 0),
    ),
  )
}

/** The upper end of the axis: some room above the highest value, and never less than a few units. */
export function topOf(unit: Unit, highest: number | null): number {
  if (unit === 'ratio') return 1
  return Math.max(unit === 'bytes' ? 1024 : 4, (highest ?? 0) * 1.1)
}

/** Distances of the lines of the grid: whole numbers, for bytes whole units. */
export function incrementsOf(unit: Unit): number[] {
  if (unit === 'ratio') return [0.25, 0.5]
  const powers =
    unit === 'bytes' ? [1, 1024, 1024 ** 2, 1024 ** 3, 1024 ** 4] : Array.from({ length: 13 }, (_, n) => 10 ** n)
  const steps = unit === 'bytes' ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] : [1, 2, 5]
  return powers.flatMap((power) => steps.map((step) => step * power))
}

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

export function axisLabel(value: number, unit: Unit): string {
  if (unit === 'count') return compact.format(value)
  if (unit === 'ratio') return `${Math.round(value * 100)} %`
  return formatValue(value, unit).replace(/\.0+(?= )/, '')
}
