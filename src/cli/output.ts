import { printable } from '../lib/printable.ts'

export type Cell = string | number | boolean | null

/** Where a command's value goes as text: tables for a reader at a terminal, plain rows for a pipe. */
export class Output {
  readonly terminal: boolean
  readonly #write: (text: string) => void
  /** The terminal's width; Infinity where nobody knows it. */
  readonly columns: number

  constructor(stream: { isTTY?: boolean; columns?: number; write(text: string): unknown } = process.stdout) {
    this.terminal = stream.isTTY === true
    this.#write = (text) => stream.write(text)
    // Some pseudo-terminals say 0: they do not know.
    this.columns = stream.columns || Infinity
  }

  line(text = ''): void {
    this.#write(`${printable(text)}\n`)
  }

  /** Names and values, one a line; aligned on a terminal, `name: value` in a pipe. */
  pairs(pairs: readonly (readonly [name: string, value: Cell])[]): void {
    const width = this.terminal ? Math.max(...pairs.map(([name]) => name.length)) + 2 : 0
    for (const [name, value] of pairs) this.line(`${`${name}:`.padEnd(width)} ${toText(value)}`)
  }

  /**
   * A table with borders on a terminal, or `name: value` lines for each row where it would be wider than that; in a pipe a
   * head line and rows with a tab between the full values.
   */
  async table(head: readonly string[], rows: readonly (readonly Cell[])[]): Promise<void> {
    if (!this.terminal) {
      for (const row of [head, ...rows]) this.#write(`${row.map((cell) => printable(toText(cell))).join('\t')}\n`)
      return
    }
    if (widthOf([head, ...rows]) > this.columns) return this.#records(head, rows)
    const { default: Table } = await import('cli-table3')
    const table = new Table({
      head: [...head],
      style: { head: [], border: [], compact: true },
      colAligns: head.map((_, column) => (rows.every((row) => typeof row[column] === 'number') ? 'right' : 'left')),
    })
    for (const row of rows) table.push(row.map((cell) => printable(toText(cell))))
    this.#write(`${table.toString()}\n`)
  }

  #records(head: readonly string[], rows: readonly (readonly Cell[])[]): void {
    for (const [index, row] of rows.entries()) {
      if (index > 0) this.line()
      for (const [column, name] of head.entries()) this.line(`${name}: ${toText(row[column] ?? null)}`)
    }
  }
}

/** Columns that a table takes with its borders, a blank on either side of each cell. */
function widthOf(rows: readonly (readonly Cell[])[]): number {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => printable(toText(row[column] ?? null)).length)),
  )
  return widths.reduce((sum, width) => sum + width + 3, 1)
}

function toText(value: Cell): string {
  return value === null ? '-' : String(value)
}
