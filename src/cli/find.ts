import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { readList, type ListPart } from '../lib/read-list.ts'
import { canonicalUuid } from '../lib/uuid.ts'
import type { Performer } from '../operations/operation.ts'

/** Something that commands name by its id, a unique beginning of it, or its name. */
export interface Named {
  id: string
  /** Null for what has no name. */
  name: string | null
}

/** How to find the things of one kind. */
export interface Kind {
  noun: string
  /** The command that lists them. */
  list: string
  read(performer: Performer): Promise<readonly Named[]>
}

/** The shortest beginning of an id that is looked up. */
const shortest = 4

// A command loads only the operations of the kind that it finds.

function kind<Entry>(
  noun: string,
  list: string,
  readPart: (performer: Performer, page: { limit: number; offset: number }) => Promise<ListPart<Entry>>,
  toNamed: (entry: Entry) => Named,
): Kind {
  const read = async (performer: Performer) => {
    const entries = await readList(
      (page) => readPart(performer, page),
      (entry) => toNamed(entry).id,
    )
    return entries.map(toNamed)
  }
  return { noun, list, read }
}

export const stageKind = kind(
  'stage',
  'stage:list',
  async (performer, page) => performer.perform((await import('../operations/stages.ts')).listStages, page),
  ({ id, name }) => ({ id, name }),
)
export const clientKind = kind(
  'client',
  'client:list',
  async (performer, page) => performer.perform((await import('../operations/clients.ts')).listApiClients, page),
  ({ clientId, name }) => ({ id: clientId, name }),
)
export const warmupKind = kind(
  'warmup',
  'warmup:list',
  async (performer, page) => performer.perform((await import('../operations/warmup.ts')).listWarmups, page),
  ({ id }) => ({ id, name: null }),
)
export const messageKind = kind(
  'failed message',
  'messenger:failed:show',
  async (performer, page) => performer.perform(await failedMessages(), page),
  ({ id }) => ({ id, name: null }),
)

async function failedMessages() {
  return (await import('../operations/messenger.ts')).listFailedMessages
}

/** Whether no message has failed: then there is nothing to ask the operator. */
export async function hasNoFailed({ performer }: { performer: Performer }): Promise<boolean> {
  return (await performer.perform(await failedMessages(), { limit: 1, offset: 0 })).total === 0
}

/**
 * Finds a thing by its id, a unique beginning of its id, or its name. A complete id is returned unchecked: the operation itself reports one that
 * names nothing.
 *
 * @throws INVALID_INPUT where several things match; NOT_FOUND
 */
export async function findNamed(performer: Performer, { noun, list, read }: Kind, given: string): Promise<Named> {
  const complete = canonicalUuid(given)
  if (complete !== null) return { id: complete, name: null }
  const entries = await read(performer)
  const beginning = given.toLowerCase().replaceAll('-', '')
  const byName = entries.filter(({ name }) => name === given)
  const found =
    byName.length > 0
      ? byName
      : entries.filter(({ id }) => beginning.length >= shortest && id.replaceAll('-', '').startsWith(beginning))
  if (found.length > 1)
    throw new PagecacheError(
      'INVALID_INPUT',
      `${found.length} ${noun}s match ${JSON.stringify(given)}: ${describe(found)}`,
      {
        hint: 'Give more of the id.',
      },
    )
  if (found[0] !== undefined) return found[0]
  const guess = closest(
    given,
    entries.flatMap(({ name }) => name ?? []),
  )
  throw new PagecacheError('NOT_FOUND', `There is no ${noun} ${given}.`, {
    hint: guess === null ? `List them with: pagecache ${list}` : `Did you mean ${guess}?`,
  })
}

/** The ids of what several arguments name. @throws INVALID_INPUT where several things match one of them */
export async function findIds(performer: Performer, kind: Kind, given: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const each of given) ids.push((await findNamed(performer, kind, each)).id)
  return ids
}

function describe(found: readonly Named[]): string {
  const named = found.slice(0, 5).map(({ id, name }) => (name === null ? id : `${id} (${name})`))
  return [...named, ...(found.length > named.length ? ['…'] : [])].join(', ')
}
