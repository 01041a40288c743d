import { printable } from '../lib/printable.ts'

export type Cell = string | number | boolean | null

/** Where a command's value goes as text: tables for a reader at a terminal, plain rows for a pipe. */
export class Output {
  readonly terminal: boolean
  readonly #write: (text: string) => void

  constructor(stream: { isTTY?: boolean; write(text: string): unknown } = process.stdout) {
    this.terminal = stream.isTTY === true
    this.#write = (text) => stream.write(text)
  }

  line(text = ''): void {
    this.#write(`${printable(text)}\n`)
  }

  /** Names and values, one a line; aligned on a terminal, `name: value` in a pipe. */
  pairs(pairs: readonly (readonly [name: string, value: Cell])[]): void {
    const width = this.terminal ? Math.max(...pairs.map(([name]) => name.length)) + 2 : 0
    for (const [name, value] of pairs) this.line(`${`${name}:`.padEnd(width)} ${toText(value)}`)
  }

  /** A table with borders on a terminal; in a pipe a head line and rows with a tab between the full values. */
  async table(head: readonly string[], rows: readonly (readonly Cell[])[]): Promise<void> {
    if (!this.terminal) {
      for (const row of [head, ...rows]) this.#write(`${row.map((cell) => printable(toText(cell))).join('\t')}\n`)
      return
    }
    const { default: Table } = await import('cli-table3')
    const table = new Table({
      head: [...head],
      style: { head: [], border: [], compact: true },
      colAligns: head.map((_, column) => (rows.every((row) => typeof row[column] === 'number') ? 'right' : 'left')),
    })
    for (const row of rows) table.push(row.map((cell) => printable(toText(cell))))
    this.#write(`${table.toString()}\n`)
  }
}

function toText(value: Cell): string {
  return value === null ? '-' : String(value)
}
