import * as Flags from '@oclif/core/flags'
import type { OutputFlags } from '@oclif/core/interfaces'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { formatDuration } from '../lib/format.ts'
import { printable, readableUrl } from '../lib/safe-text.ts'
import { limitFlag, offsetFlag } from './flags.ts'
import { fitColumns } from './fit-columns.ts'
import type { Cell, Output } from './output.ts'
import { relativeTime, shortIds } from './readable.ts'

/** An entry of the list that an operation returns. */
export type EntryOf<Op> = Op extends { run(...input: never[]): Promise<{ items: readonly (infer Entry)[] }> }
  ? Entry
  : never

/** A column of a list. */
export interface Column<Item> {
  name: string
  value(item: Item): Cell
  /**
   * How a terminal shows the value. `url`: with decoded letters, shortened in the middle if it is too long. `text`: shortened at the end.
   * `time`: an ISO stamp, shown relative to now. `seconds`: shown with a unit. `id`: shortened to a unique beginning, which commands accept.
   */
  kind?: 'url' | 'text' | 'time' | 'seconds' | 'id'
  /** Shows the value on a terminal, for example with its unit; sorting uses the value itself. */
  show?(item: Item): Cell
  /** Left out first where space is short. */
  minor?: true
}

export interface List<Item> {
  columns: readonly Column<Item>[]
  items: readonly Item[]
  total?: number
  /** `page` */
  noun: string
  /** The sentence for an empty list. */
  empty: string
}

/** Flags of lists that are not paged. */
export const viewFlags = {
  columns: Flags.string({ summary: 'Only these columns, separated by commas.', helpValue: '<names>' }),
  sort: Flags.string({ summary: 'Sort the shown rows by a column; -name sorts descending.', helpValue: '<column>' }),
  iso: Flags.boolean({ summary: 'Show times as ISO 8601 stamps.' }),
  csv: Flags.boolean({ summary: 'Print CSV with full values.', exclusive: ['json', 'jsonl'] }),
  jsonl: Flags.boolean({ summary: 'Print each entry as one line of JSON.', exclusive: ['json'] }),
}

/** Flags of lists. */
export const listFlags = { limit: limitFlag, offset: offsetFlag, ...viewFlags }

export type ViewFlags = Partial<OutputFlags<typeof viewFlags>>

/**
 * Prints a list: a table that fits the terminal; in a pipe, tab-separated rows of full values; CSV or JSON lines where flags ask for them.
 *
 * @param flags null: the command has no flags of lists
 * @throws USAGE for an unknown column
 */
export async function presentList<Item>(list: List<Item>, output: Output, flags: ViewFlags | null): Promise<void> {
  const chosen = chooseColumns(list.columns, flags?.columns)
  const items = sortItems(list, flags?.sort)
  if (flags?.jsonl) return items.forEach((item) => output.raw(`${JSON.stringify(item)}\n`))
  const head = chosen.map(({ name }) => name)
  if (flags?.csv) return output.raw(await toCsv([head, ...items.map((item) => chosen.map(({ value }) => value(item)))]))
  if (!output.terminal)
    return output.table(
      head,
      items.map((item) => chosen.map(({ show, value }) => (show ?? value)(item))),
    )
  if (items.length === 0) return output.prose(list.empty)
  const cells = chosen.map((column) => showColumn(column, items, flags?.iso === true))
  const fitted = await fitColumns(
    chosen.map(({ name, kind, minor }, index) => ({ name, kind, minor, cells: cells[index]! })),
    output.columns,
    flags?.columns !== undefined,
  )
  await output.table(
    fitted.shown.map(({ name }) => name),
    items.map((_, row) => fitted.shown.map((column) => column.cells[row]!)),
  )
  if (fitted.hidden.length > 0)
    output.prose(
      `Not shown: ${fitted.hidden.join(', ')}. ${flags === null ? 'Use' : 'Choose with --columns, or use'} a wider terminal.`,
    )
  output.more(items.length, list.total ?? items.length, list.noun)
}

function showColumn<Item>(column: Column<Item>, items: readonly Item[], iso: boolean): Cell[] {
  const values = items.map((item) => column.value(item))
  if (column.kind === 'id') return shortIds(values)
  if (column.kind === 'url') return values.map((value) => (typeof value === 'string' ? readableUrl(value) : value))
  if (column.kind === 'time' && !iso) return values.map((value) => relativeTime(value, Date.now()))
  if (column.kind === 'seconds')
    return values.map((value) => (typeof value === 'number' ? formatDuration(value) : value))
  return column.show === undefined ? values : items.map((item) => column.show!(item))
}

function chooseColumns<Item>(columns: readonly Column<Item>[], names: string | undefined): readonly Column<Item>[] {
  if (names === undefined) return columns
  return names.split(',').map((name) => findColumn(columns, name.trim(), '--columns'))
}

function findColumn<Item>(columns: readonly Column<Item>[], name: string, flag: string): Column<Item> {
  const found = columns.find((column) => column.name.toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found
  const known = columns.map((column) => column.name)
  const guess = closest(name, known)
  throw new PagecacheError('USAGE', `${flag}: expected one of ${known.join(', ')}, not ${JSON.stringify(name)}`, {
    ...(guess !== null && { hint: `Did you mean ${guess}?` }),
  })
}

function sortItems<Item>({ columns, items }: List<Item>, by: string | undefined): readonly Item[] {
  if (by === undefined) return items
  const descending = by.startsWith('-')
  const { value } = findColumn(columns, descending ? by.slice(1) : by, '--sort')
  return items.toSorted((one, other) => compare(value(one), value(other), descending))
}

/** Empty values come last in either direction. */
function compare(one: Cell, other: Cell, descending: boolean): number {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1
  const order =
    typeof one === 'number' && typeof other === 'number' ? one - other : String(one).localeCompare(String(other))
  return descending ? -order : order
}

/** Formats rows as CSV (RFC 4180). Formulas are escaped for spreadsheets, control characters for terminals. */
export async function toCsv(rows: readonly (readonly Cell[])[]): Promise<string> {
  const { stringify } = await import('csv-stringify/sync')
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? printable(cell) : cell)))
  return stringify(cells, { escape_formulas: true })
}
