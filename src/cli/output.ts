import { styleText } from 'node:util'
import { allowsColor } from '../config/environment.ts'
import { formatCount, plural } from '../lib/format.ts'
import { printable } from '../lib/safe-text.ts'
import { cells } from './cells.ts'

export type Cell = string | number | boolean | null

/** Writes a command's value as text: tables on a terminal, tab-separated rows in a pipe. */
export class Output {
  readonly terminal: boolean
  readonly #write: (text: string) => void
  /** Width of the terminal in cells; Infinity if unknown. */
  readonly columns: number

  constructor(stream: { isTTY?: boolean; columns?: number; write(text: string): unknown } = process.stdout) {
    this.terminal = stream.isTTY === true
    this.#write = (text) => stream.write(text)
    // Some pseudo-terminals report 0 columns.
    this.columns = stream.columns || Infinity
  }

  line(text = ''): void {
    this.#write(`${printable(text)}\n`)
  }

  /** Prints text as it is: CSV or JSON. */
  raw(text: string): void {
    this.#write(text)
  }

  /** Prints a sentence, wrapped on a terminal. */
  prose(text: string): void {
    for (const line of this.wrap(text)) this.line(line)
  }

  /** Prints `name: value` lines; on a terminal aligned, with long values wrapped beneath their beginning. */
  pairs(pairs: readonly (readonly [name: string, value: Cell])[]): void {
    const [widthOf, gap] = this.terminal ? [cells, 2] : [() => 0, 1]
    const width = Math.max(...pairs.map(([name]) => widthOf(name)))
    const indent = width + 1 + gap
    for (const [name, value] of pairs) {
      const [first = '', ...more] = this.wrap(
        this.terminal && typeof value === 'number' ? formatCount(value) : toText(value),
        indent,
      )
      this.line(`${name}:${' '.repeat(width - widthOf(name) + gap)}${first}`)
      for (const line of more) this.line(' '.repeat(indent) + line)
    }
  }

  /** On a terminal, breaks text at spaces into lines that fit beside an indent. A longer word, such as a URL to copy, stays whole. */
  wrap(text: string, indent = 0): string[] {
    if (!this.terminal) return [text]
    const most = Math.max(20, this.columns - indent)
    return text.split('\n').flatMap((line) => wrapLine(line, most))
  }

  /** Prints text after a label; on a terminal, wraps it and aligns further lines beneath the first. With little room, all are below the label. */
  async hanging(label: string, text: string, color?: 'green' | 'yellow' | 'red'): Promise<void> {
    const isBelow = this.columns - cells(label) < 20
    const indent = ' '.repeat(isBelow ? 4 : cells(label))
    let lines = text.split('\n')
    if (this.columns !== Infinity) {
      const { default: wrapAnsi } = await import('wrap-ansi')
      lines = wrapAnsi(text, Math.max(1, this.columns - indent.length)).split('\n')
    }
    const shown = isBelow ? `${label.trimEnd()}\n${indent}` : label
    const head = color !== undefined && this.terminal && allowsColor() ? styleText(color, shown) : shown
    for (const [index, line] of lines.entries()) this.#write(`${index === 0 ? head : indent}${printable(line)}\n`)
  }

  /** On a terminal, says that a list is longer than what is shown. */
  more(shown: number, total: number, noun: string, hint = 'Show more with --limit and --offset.'): void {
    if (this.terminal && shown < total) this.prose(`${formatCount(shown)} of ${plural(total, noun)}. ${hint}`)
  }

  /**
   * Prints a table with borders on a terminal, or a block of `name: value` lines per row if the table is too wide. In a pipe, prints
   * a header line and rows of full values separated by tabs.
   */
  async table(head: readonly string[], rows: readonly (readonly Cell[])[]): Promise<void> {
    if (!this.terminal) {
      for (const row of [head, ...rows]) this.#write(`${row.map((cell) => printable(toText(cell))).join('\t')}\n`)
      return
    }
    const widths = head.map((_, column) =>
      Math.max(...[head, ...rows].map((row) => cells(printable(toText(row[column] ?? null))))),
    )
    // Each cell has two cells of padding and a border.
    if (widths.reduce((sum, width) => sum + width + 3, 1) > this.columns) return this.#records(head, rows)
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

function wrapLine(text: string, most: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const joined = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && cells(joined) <= most) lines[lines.length - 1] = joined
    else lines.push(word)
  }
  return lines
}

function toText(value: Cell): string {
  return value === null ? '-' : String(value)
}
