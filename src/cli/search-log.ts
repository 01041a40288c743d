import * as Flags from '@oclif/core/flags'
import type { Given } from '../operations/operation.ts'
import type { recentInvalidations, recentPurges } from '../operations/purge-log.ts'
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
  const wanted = limit + offset
  let value = await perform({ search, limit: wanted, offset: 0 } as Given<Op['input']>)
  const items: unknown[] = [...value.items]
  while (items.length < wanted && value.next !== null && value.next !== undefined && !signal.aborted) {
    tell(`Searched back to ${value.searchedTo}; found ${items.length}.`)
    value = await perform({ search, before: value.next, limit: wanted - items.length, offset: 0 } as Given<Op['input']>)
    items.push(...value.items)
  }
  return { ...value, total: items.length, limit, offset, items: items.slice(offset) }
}
