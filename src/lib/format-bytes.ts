const units = ['B', 'KB', 'MB', 'GB', 'TB'] as const

/** Formats bytes in units of 1024: `0 B`, `512 B`, `1.50 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  // Decided on the rounded value, so that 1,048,575 bytes are 1.00 MB and not 1024.00 KB.
  while (unit < units.length - 1 && Number(unit === 0 ? value : value.toFixed(2)) >= 1024) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(2)} ${units[unit]}`
}
