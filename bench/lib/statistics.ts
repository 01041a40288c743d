/** The value in the middle; NaN of nothing. */
export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

/** The smallest value that at least `rank` per cent of the values do not exceed (nearest rank); NaN of nothing. */
export function percentile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((rank / 100) * sorted.length) - 1)] ?? Number.NaN
}
