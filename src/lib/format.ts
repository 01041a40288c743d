/** `1234567` → `1,234,567`. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

/** A count with its noun: `1 file`, `2,000 files`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** Formats a measured time in milliseconds: `0.4 ms`, `250 ms`, `7.79 s`, from two minutes on `2 min 5 s`. */
export function formatMs(ms: number): string {
  if (ms > 0 && ms < 0.05) return '< 0.1 ms'
  if (ms >= 120_000) return formatDuration(ms / 1000)
  return ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms > 0 && ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
}

/** Formats seconds: `0 s`, `12 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`. Below a second in milliseconds. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return seconds === 0 ? '0 s' : formatMs(seconds * 1000)
  const whole = Math.round(seconds)
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor((whole % 86_400) / 3600), 'h'],
    [Math.floor((whole % 3600) / 60), 'min'],
    [whole % 60, 's'],
  ]
  const first = parts.findIndex(([value]) => value > 0)
  return parts
    .slice(first, first + 2)
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ')
}
