const units = ['B', 'KB', 'MB', 'GB', 'TB'] as const

/** Bytes for a reader, in units of 1024: `0 B`, `512 B`, `1.50 MB` (contract section 4, `totalSizeFormatted`). */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  // The rounded value decides, so that 1,048,575 bytes read 1.00 MB and never 1024.00 KB.
  while (unit < units.length - 1 && Number(unit === 0 ? value : value.toFixed(2)) >= 1024) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(2)} ${units[unit]}`
}
