import * as Flags from '@oclif/core/flags'
import { formatCount } from '../lib/format.ts'
import { PagecacheError } from '../errors.ts'
import type { Given } from '../operations/operation.ts'
import type { recentInvalidations, recentPurges } from '../operations/purge-log.ts'
import { presentList, type List, type ViewFlags } from './list.ts'
import type { Output } from './output.ts'
import type { Session } from './session.ts'

/** The flag of lists that can be searched. */
export const searchFlag = Flags.string({
  summary: 'Only entries that contain each of these words, ignoring case.',
  helpValue: '<words>',
})

type Searched = typeof recentPurges | typeof recentInvalidations

/** Reads a list; with a search, goes on until it is complete or the whole log was searched. */
export async function readLog<Op extends Searched>(
  { performer, signal, tell }: Session,
  operation: Op,
  { search, limit, offset }: { search: string | undefined; limit: number; offset: number },
): Promise<Awaited<ReturnType<Op['run']>>> {
  type Value = Awaited<ReturnType<Op['run']>>
  const perform = (input: Given<Op['input']>) => performer.perform(operation as never, input as never) as Promise<Value>
  if (search === undefined || search.trim() === '') return perform({ limit, offset } as Given<Op['input']>)
  let value = await perform({ search, limit, offset } as Given<Op['input']>)
  const items: unknown[] = [...value.items]
  // The total of a search counts the entries found so far, including skipped ones.
  let total = value.total
  while (items.length < limit && value.next !== null && value.next !== undefined && !signal.aborted) {
    tell(`Searched back to ${value.searchedTo}; found ${formatCount(total)}.`)
    const rest = { limit: limit - items.length, offset: Math.max(0, offset - total) }
    value = await perform({ search, before: value.next, ...rest } as Given<Op['input']>)
    items.push(...value.items)
    total += value.total
  }
  // On this machine, an interrupted search ends without an error, so its result would look complete.
  if (signal.aborted) throw new PagecacheError('INTERRUPTED', 'Interrupted.')
  return { ...value, total, limit, offset, items }
}

/** A list from a log, and how far back a search has read. */
export interface Log<Item> extends List<Item> {
  next?: number | null | undefined
  searchedTo?: string | null | undefined
}

/** Prints a list from a log. After a search, also says if nothing matches, or if older entries may match too. */
export async function presentLog<Item>(list: Log<Item>, output: Output, flags: ViewFlags): Promise<void> {
  const { next, searchedTo, noun } = list
  await presentList({ ...list, empty: next === undefined ? list.empty : `No ${noun} matches.` }, output, flags)
  if (typeof next !== 'number' || !output.terminal || flags.csv || flags.jsonl) return
  output.prose(`Searched back to ${searchedTo}; older entries may match too. Show more with --limit and --offset.`)
}
