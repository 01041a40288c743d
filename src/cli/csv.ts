import { stringify } from 'csv-stringify/sync'
import { printable } from '../lib/printable.ts'
import type { Cell } from './output.ts'

/** Rows as CSV (RFC 4180). What a spreadsheet would take for a formula is made text, control characters are escaped. */
export function toCsv(rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? printable(cell) : cell)))
  return stringify(cells, { escape_formulas: true })
}
