/** `1234567` → `1,234,567`. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

/** A count with its noun: `1 file`, `2 files`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Formats seconds: `0 s`, `12 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`. Below a second in milliseconds. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return seconds === 0 ? '0 s' : `${(seconds * 1000).toFixed(seconds < 0.01 ? 2 : 0)} ms`
  const whole = Math.floor(seconds)
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
