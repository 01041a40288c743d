/** The median; NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

/** The median and, of several values, the range: `2.1 (1.8 to 2.5)`. @param shown formats a value; a number: how many decimals to show */
export function withRange(values: readonly number[], shown: number | ((value: number) => string)): string {
  const format = typeof shown === 'number' ? (value: number) => value.toFixed(shown) : shown
  const middle = format(median(values))
  return values.length > 1 ? `${middle} (${format(Math.min(...values))} to ${format(Math.max(...values))})` : middle
}

/** The percentile `rank` (nearest rank method); NaN for an empty list. */
export function percentile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((rank / 100) * sorted.length) - 1)] ?? Number.NaN
}
