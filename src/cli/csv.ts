import { stringify } from 'csv-stringify/sync'
import { printable } from '../lib/printable.ts'
import type { Cell } from './output.ts'

/** Formats rows as CSV (RFC 4180). Formulas are escaped for spreadsheets, control characters for terminals. */
export function toCsv(rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? printable(cell) : cell)))
  return stringify(cells, { escape_formulas: true })
}
