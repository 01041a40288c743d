const durationUnits: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const sizeUnits: Record<string, number> = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 }

/** Parses `"30s"`, `"5m"` or a number of seconds to milliseconds; undefined when invalid. */
export function parseDuration(input: unknown): number | undefined {
  return parseQuantity(input, durationUnits, 1000, (unit) => unit.toLowerCase())
}

/** Parses the text of a flag to milliseconds: as `parseDuration`, and `30` is 30 seconds. */
export function parseTypedDuration(text: string): number | undefined {
  return parseDuration(/^\d+$/.test(text) ? Number(text) : text)
}

/** Parses `"128MB"` (units of 1024) or a number of bytes to bytes; undefined when invalid. */
export function parseSize(input: unknown): number | undefined {
  return parseQuantity(input, sizeUnits, 1, (unit) => unit.toUpperCase())
}

/** Parses `"20%"` to 0.2; undefined when it is not a percentage from 0 to 100. */
export function parseShare(input: unknown): number | undefined {
  const match = typeof input === 'string' ? /^(\d{1,3}(?:\.\d{1,4})?) ?%$/.exec(input.trim()) : null
  const percent = Number(match?.[1] ?? NaN)
  return percent <= 100 ? percent / 100 : undefined
}

/** Formats a share for `parseShare`: `0.2` → `20%`. */
export function writeShare(share: number): string {
  return `${Number((share * 100).toFixed(4))}%`
}

/** Formats milliseconds for `parseDuration`, in the largest unit that divides them. */
export function writeDuration(milliseconds: number): string {
  return writeQuantity(milliseconds, durationUnits, 's')
}

/** Formats bytes for `parseSize`, in the largest unit that divides them. */
export function writeSize(bytes: number): string {
  return writeQuantity(bytes, sizeUnits, 'B')
}

function parseQuantity(
  input: unknown,
  units: Record<string, number>,
  bare: number,
  fold: (unit: string) => string,
): number | undefined {
  if (typeof input === 'number') return whole(input * bare)
  if (typeof input !== 'string') return undefined
  const match = /^(\d+(?:\.\d+)?) ?([a-z]+)$/i.exec(input.trim())
  const unit = match && units[fold(match[2] ?? '')]
  return match && unit ? whole(Number(match[1]) * unit) : undefined
}

function whole(value: number): number | undefined {
  const rounded = Math.round(value)
  return Number.isSafeInteger(rounded) && rounded >= 0 ? rounded : undefined
}

function writeQuantity(value: number, units: Record<string, number>, zeroUnit: string): string {
  if (value === 0) return `0${zeroUnit}`
  const fitting = Object.entries(units).findLast(([, factor]) => value % factor === 0)
  return fitting ? `${value / fitting[1]}${fitting[0]}` : String(value)
}
