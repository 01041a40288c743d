import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { Form } from './actions.tsx'
import { formatCount } from './format.ts'
import { Field } from './parts.tsx'
import { useRoute } from './route.ts'
import { useText } from './use-text.ts'

/** Rows per page of a list. */
const portions = [10, 25, 50, 100, 500]

/** Which rows of a list are shown. The URL holds it, so reload, Back and links keep it. */
export interface ListState {
  /** Words to search for; empty: all rows. */
  search: string
  offset: number
  /** Rows per page. */
  portion: number
  set(next: Partial<Pick<ListState, 'search' | 'offset' | 'portion'>>, mode?: 'push' | 'replace'): void
}

/** @param name of the list, unique within the view */
export function useList(name: string, usual = 25): ListState {
  const { params, change } = useRoute()
  const [from, rows] = [`${name}-from`, `${name}-rows`]
  const portion = Number(params[rows])
  return {
    search: params[name] ?? '',
    offset: Math.max(0, Math.floor(Number(params[from] ?? 0)) || 0),
    portion: portions.includes(portion) ? portion : usual,
    set: (next, mode) => {
      // A new search or page size begins at the first row.
      const { search, portion: wanted, offset = 0 } = next
      const words = search === undefined ? {} : { [name]: search }
      const size = wanted === undefined ? {} : { [rows]: wanted === usual ? '' : String(wanted) }
      change({ ...words, ...size, [from]: offset === 0 ? '' : String(offset) }, mode)
    },
  }
}

/** The search form of a list. `children` are further fields that apply without a button. */
export function ListSearch({
  list,
  label,
  children,
}: {
  list: ListState
  label: string
  children?: ComponentChildren
}) {
  const [words, setWords] = useText(list.search)
  const search = async () => {
    list.set({ search: words.trim() })
    return ''
  }
  return (
    <Form label="Search" submit={search}>
      {children}
      <Field label={label} type="search" value={words} set={setWords} width="wide" />
    </Form>
  )
}

/** The search of a completely loaded list; hidden if everything fits on one page. */
export function LocalSearch({ list, count, label }: { list: ListState; count: number; label: string }) {
  return count > list.portion || list.search !== '' ? <ListSearch list={list} label={label} /> : null
}

/** The rows of a list whose text contains each word of its search. */
export function pick<Item>({ search }: ListState, items: readonly Item[], textOf: (item: Item) => string): Item[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  return items.filter((item) => {
    const text = textOf(item).toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** The pager of a completely loaded list. */
export function LocalPager({ list, total }: { list: ListState; total: number }) {
  useEffect(() => stayWithin(list, total), [list.offset, total])
  return <Pager list={list} total={total} />
}

/** Goes to the last page if the position is beyond it: rows were deleted, or the URL names a page that never existed. */
export function stayWithin({ offset, portion, set }: ListState, total: number): void {
  if (offset > 0 && offset >= total) set({ offset: Math.max(0, Math.ceil(total / portion) - 1) * portion }, 'replace')
}

/**
 * Moves through a list. Its buttons are never disabled, because a disabled button loses the focus.
 *
 * @param total null while a search does not know it; `hasMore` then tells whether there are more rows
 */
export function Pager({ list, total, hasMore }: { list: ListState; total: number | null; hasMore?: boolean }) {
  const { offset, portion, set } = list
  const isLast = total === null ? hasMore !== true : offset + portion >= total
  if (offset === 0 && isLast && (total ?? 0) <= portions[0]!) return null
  return (
    <div class="row pager" role="group" aria-label="Pages of the list">
      <Step label="Previous" to={offset === 0 ? null : Math.max(0, offset - portion)} list={list} />
      <Step label="Next" to={isLast ? null : offset + portion} list={list} />
      <span class="soft">{describe(offset, portion, total, isLast)}</span>
      <label class="inline">
        <span>Rows</span>
        <select value={String(portion)} onChange={(event) => set({ portion: Number(event.currentTarget.value) })}>
          {portions.map((size) => (
            <option key={size} value={String(size)}>
              {size}
            </option>
          ))}
        </select>
      </label>
    </div>
  )
}

function describe(offset: number, portion: number, total: number | null, isLast: boolean): string {
  const first = formatCount(offset + 1)
  if (total === null) return isLast ? `from ${first}` : `${first} to ${formatCount(offset + portion)}, and more`
  const last = Math.min(total, offset + portion)
  return `${formatCount(Math.min(offset + 1, last))} to ${formatCount(last)} of ${formatCount(total)}`
}

/** A button of the pager. Does nothing without a target. */
function Step({ label, to, list }: { label: string; to: number | null; list: ListState }) {
  const go = () => {
    if (to !== null) list.set({ offset: to })
  }
  return (
    <button type="button" aria-disabled={to === null} onClick={go}>
      {label}
    </button>
  )
}
