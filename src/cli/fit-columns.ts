import { printable } from '../lib/safe-text.ts'
import { cells } from './cells.ts'
import type { Cell } from './output.ts'

export interface FittedColumn {
  name: string
  kind?: 'url' | 'text' | 'time' | 'seconds' | 'id' | undefined
  minor?: true | undefined
  cells: readonly Cell[]
}

/** Cells around the text of a column: two of padding and a border. */
const frame = 3

/** How many columns a table keeps, unless it shows them one below the other. */
const fewest = 3

/** The narrowest form of a column that is shortened, in cells. */
const narrowest = { url: 24, text: 12 }

/**
 * Makes a table fit into `width` cells: shortens long URLs and texts, the longest first, then leaves out minor columns: silently the empty
 * ones, then those on the right, then others on the right. What is still too wide is left to the table, and so are columns that were `chosen`.
 */
export async function fitColumns(
  columns: readonly FittedColumn[],
  width: number,
  chosen = false,
): Promise<{ shown: FittedColumn[]; hidden: string[] }> {
  const { default: truncate } = await import('cli-truncate')
  const widthOf = (column: FittedColumn) =>
    Math.max(cells(column.name), ...column.cells.map((cell) => cells(show(cell))))
  const cut = (column: FittedColumn, limit: number): FittedColumn => ({
    ...column,
    cells: column.cells.map((cell) => {
      const text = show(cell)
      if (cells(text) <= limit) return cell
      return truncate(text, limit, { position: column.kind === 'url' ? 'middle' : 'end' })
    }),
  })
  let shown = [...columns]
  const hidden: string[] = []
  for (;;) {
    const widths = shown.map(widthOf)
    const excess = widths.reduce((sum, each) => sum + each + frame, 1) - width
    const limits = shrink(shown, widths, excess)
    const least = limits !== null || chosen ? -1 : leastColumn(shown)
    if (least === -1)
      return { shown: limits === null ? shown : shown.map((column, index) => cut(column, limits[index]!)), hidden }
    if (!isEmpty(shown[least]!)) hidden.unshift(shown[least]!.name)
    shown = shown.toSpliced(least, 1)
  }
}

/** Index of the next column to omit; -1 for none. */
function leastColumn(columns: readonly FittedColumn[]): number {
  const empty = columns.findLastIndex((column) => column.minor === true && isEmpty(column))
  if (empty !== -1) return empty
  const minor = columns.findLastIndex((column) => column.minor === true)
  if (minor !== -1 || columns.length <= fewest) return minor
  return columns.findLastIndex(({ kind }, index) => index > 0 && kind !== 'url' && kind !== 'text')
}

function isEmpty({ cells }: FittedColumn): boolean {
  return cells.every((cell) => cell === null || cell === '' || cell === '-')
}

/** The width of each column after shortening; null where shortening is not enough. */
function shrink(columns: readonly FittedColumn[], widths: readonly number[], excess: number): number[] | null {
  const limits = [...widths]
  for (let left = excess; left > 0; left--) {
    let widest = -1
    for (const [index, column] of columns.entries())
      if (limits[index]! > lowest(column, limits[index]!) && (widest === -1 || limits[index]! > limits[widest]!))
        widest = index
    if (widest === -1) return null
    limits[widest]! -= 1
  }
  return limits
}

/** The narrowest width of a column. */
function lowest({ kind, name }: FittedColumn, natural: number): number {
  return kind === 'url' || kind === 'text' ? Math.min(natural, Math.max(narrowest[kind], name.length)) : natural
}

function show(cell: Cell): string {
  return cell === null ? '-' : printable(String(cell))
}
