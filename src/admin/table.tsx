import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { formatCount } from './format.ts'

/** A cell that is sorted by another value than it shows. */
interface SortedCell {
  by: string | number | null
  shown: ComponentChildren
}

export type Cell = ComponentChildren | SortedCell

/** Which column a table is sorted by. */
export interface Order {
  column: string
  descending: boolean
}

export interface TableProps {
  /** For screen readers. */
  caption: string
  /** An empty heading is that of a column of buttons. */
  head: readonly string[]
  rows: readonly (readonly Cell[])[]
  /** Identities of the rows, so that a button keeps its state and focus when the list changes. */
  keys?: readonly string[]
  /** Shown instead of a table without rows. */
  empty: string
  /** `here`: the browser sorts `rows`. Otherwise: the columns by which the daemon can sort, and the current order. */
  sort?: 'here' | { columns: readonly string[]; order: Order | null; set(order: Order): void } | undefined
  /** Whether `rows` is the whole list. If not, a note says that only these rows are sorted. */
  isWhole?: boolean
  /** The range of sorted rows to show. */
  part?: { offset: number; portion: number }
}

/** A table; on a narrow screen each row is a card. */
export function Table({ caption, head, rows, keys, empty, sort, isWhole = true, part }: TableProps) {
  const [own, setOwn] = useState<Order | null>(null)
  if (rows.length === 0) return <p class="empty">{empty}</p>
  const isHere = sort === 'here'
  const order = isHere ? own : (sort?.order ?? null)
  const sorted = rows.map((row, index) => ({ row, key: keys?.[index] ?? String(index) }))
  const column = isHere && order !== null ? head.indexOf(order.column) : -1
  if (column >= 0) sorted.sort((one, other) => compare(one.row[column], other.row[column], order!.descending))
  const shown = part === undefined ? sorted : sorted.slice(part.offset, part.offset + part.portion)
  const canSort = (name: string) => name !== '' && (isHere || sort?.columns.includes(name) === true)
  const sortBy = (name: string) => {
    const next = { column: name, descending: order?.column === name ? !order.descending : false }
    if (isHere) setOwn(next)
    else sort?.set(next)
  }
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table role="table">
        <caption class="unseen">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {head.map((name, index) => (
              <th
                key={index}
                role="columnheader"
                scope="col"
                class={isNumeric(rows, index) ? 'number' : undefined}
                aria-sort={order?.column === name ? (order.descending ? 'descending' : 'ascending') : undefined}
              >
                {heading(name, canSort(name), () => sortBy(name))}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {shown.map(({ row, key }) => (
            <tr key={key} role="row">
              {row.map((cell, index) => (
                <td
                  key={index}
                  role="cell"
                  data-label={head[index]}
                  class={head[index] === '' ? 'actions' : isNumeric(rows, index) ? 'number' : undefined}
                >
                  {show(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {column >= 0 && !isWhole ? <p class="soft">Only the rows shown here are sorted.</p> : null}
    </div>
  )
}

function heading(name: string, canSort: boolean, sortBy: () => void): JSX.Element | string {
  if (name === '') return <span class="unseen">Actions</span>
  if (!canSort) return name
  return (
    <button type="button" class="sort" onClick={sortBy}>
      {name}
    </button>
  )
}

function isSorted(cell: Cell | undefined): cell is SortedCell {
  return typeof cell === 'object' && cell !== null && 'by' in cell
}

function show(cell: Cell): ComponentChildren {
  if (isSorted(cell)) return cell.shown
  return typeof cell === 'number' ? formatCount(cell) : cell
}

/** Whether a column has numbers, among which there may be gaps. */
function isNumeric(rows: TableProps['rows'], column: number): boolean {
  return rows.some((row) => typeof valueOf(row[column]) === 'number')
}

/** Cells without a value come last in either direction. */
function compare(one: Cell | undefined, other: Cell | undefined, descending: boolean): number {
  const [a, b] = [valueOf(one), valueOf(other)]
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en')
  return descending ? -order : order
}

function valueOf(cell: Cell | undefined): string | number | null {
  const value = isSorted(cell) ? cell.by : cell
  return typeof value === 'string' || typeof value === 'number' ? value : null
}
