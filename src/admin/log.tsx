import type { ComponentChildren } from 'preact'
import type { Query } from './api.ts'
import { formatTime } from './format.ts'
import { ListSearch, Pager, stayWithin, type ListState } from './list.tsx'
import { Known } from './parts.tsx'
import { useAnswer, type Ask, type Resource } from './use-resource.ts'

/** A page of a list, as the daemon returns it. */
interface ListAnswer<Item> {
  items: readonly Item[]
  total: number
}

/** The result of a log search: `next` is where to continue, null at the end of the log. */
interface SearchAnswer<Item> extends ListAnswer<Item> {
  next?: number | null
  searchedTo?: string | null
}

/** A page of a log. */
interface LogPage<Item> {
  items: readonly Item[]
  /** Null until a search has found all entries. */
  total: number | null
  hasMore: boolean
  /** How far back a search in progress has read. */
  searchedTo: string | null
}

/** Milliseconds between repetitions of a search, which may have to read the whole log. */
const searchEvery = 60_000

/** Loads a page of a list. The previous page stays until the next one has loaded, so its buttons keep the focus. */
export function usePortion<Item, More = unknown>(
  path: string,
  list: ListState,
  every: number,
  filter: Query = {},
): Resource<ListAnswer<Item> & More> {
  const query = { ...filter, limit: list.portion, offset: list.offset }
  const ask: Ask<ListAnswer<Item> & More> = async (api, signal) => {
    const answer = await api.get<ListAnswer<Item> & More>(path, query, signal)
    if (!signal.aborted) stayWithin(list, answer.total)
    return answer
  }
  return useAnswer(`${path} ${JSON.stringify(query)}`, ask, every, true)
}

/** Loads a page of a log, which the daemon can search. */
export function useLog<Item>(path: string, list: ListState, every: number): Resource<LogPage<Item>> {
  const { search, offset, portion } = list
  const isSearch = search !== ''
  const ask = isSearch ? searching<Item>(path, list) : reading<Item>(path, list)
  return useAnswer(`${path} ${offset} ${portion} ${search}`, ask, isSearch ? searchEvery : every, true)
}

function reading<Item>(path: string, list: ListState): Ask<LogPage<Item>> {
  const { offset, portion } = list
  return async (api, signal) => {
    const { items, total } = await api.get<ListAnswer<Item>>(path, { limit: portion, offset }, signal)
    if (!signal.aborted) stayWithin(list, total)
    return { items, total, hasMore: offset + items.length < total, searchedTo: null }
  }
}

/** Searches until the page is full or the log ends. One request searches for half a second at most. */
function searching<Item>(path: string, list: ListState): Ask<LogPage<Item>> {
  const { search, offset, portion } = list
  return async (api, signal, show) => {
    // One row more than shown, to know whether there is another page.
    const wanted = portion + 1
    const found: Item[] = []
    let [total, before]: [number, number | undefined] = [0, undefined]
    for (;;) {
      const rest = { limit: wanted - found.length, offset: Math.max(0, offset - total) }
      const answer: SearchAnswer<Item> = await api.get(path, { search, before, ...rest }, signal)
      found.push(...answer.items)
      total += answer.total
      const { next = null, searchedTo = null } = answer
      const items = found.slice(0, portion)
      const hasMore = found.length === wanted
      if (next === null && !signal.aborted) stayWithin(list, total)
      if (hasMore || next === null) return { items, total: next === null ? total : null, hasMore, searchedTo: null }
      before = next
      show({ items, total: null, hasMore, searchedTo })
    }
  }
}

/** A log with its search form and pager. */
export function Log<Item>({
  of,
  list,
  label,
  children,
}: {
  of: Resource<LogPage<Item>>
  list: ListState
  /** Label of the search. */
  label: string
  /** @param empty the text for a search without results; null without a search */
  children: (items: readonly Item[], empty: string | null) => ComponentChildren
}) {
  return (
    <>
      <ListSearch list={list} label={label} />
      <Known of={of}>
        {({ items, total, hasMore, searchedTo }) => (
          <>
            {items.length === 0 && searchedTo !== null
              ? null
              : children(items, list.search === '' ? null : 'Nothing matches.')}
            {searchedTo === null ? (
              <Pager list={list} total={total} hasMore={hasMore} />
            ) : (
              <p class="loading" role="status">
                Searched back to {formatTime(searchedTo)} …
              </p>
            )}
          </>
        )}
      </Known>
    </>
  )
}
