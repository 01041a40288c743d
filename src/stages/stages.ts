import { PagecacheError, unknownChannel } from '../errors.ts'
import { orderedId } from '../lib/ordered-id.ts'
import type { Records } from '../records/open.ts'
import type { StageRow } from '../records/stage-rows.ts'
import { loadSanitiser } from './content.ts'
import { saveChannels, type SalesChannel } from './sales-channels.ts'
import { readLook, type StageLook, type StageTrigger } from './look.ts'
import { toColumns, toStage, type Stage, type StageContent, type StageFields } from './stage.ts'
import { readWindow } from './window.ts'

/** Most characters of a name. */
const maxNameLength = 200

/** A change to the settings of a stage; omitted fields stay as they are. */
export type StageChange = Partial<Omit<StageFields, 'content' | 'look' | 'trigger'>> & {
  content?: Partial<StageContent>
  look?: Partial<StageLook>
  trigger?: Partial<StageTrigger>
}

/** Creates a stage. Throws INVALID_INPUT for invalid content, NOT_FOUND for a sales channel that is not configured. */
export async function createStage(
  records: Records,
  channels: readonly SalesChannel[],
  fields: StageFields,
): Promise<Stage> {
  const sanitise = await loadSanitiser()
  const valid = {
    ...fields,
    salesChannelId: knownChannel(channels, fields.salesChannelId),
    content: sanitise(fields.content),
    look: readLook(fields.look, originsOf(channels)),
    ...readWindow(fields),
  }
  return await records.db.transaction().execute(async (transaction) => {
    await saveChannels(transaction, channels)
    return await insertStage({ ...records, db: transaction }, valid)
  })
}

async function insertStage(records: Records, fields: StageFields): Promise<Stage> {
  const now = records.now()
  const row: StageRow = { id: orderedId(now), ...toColumns(fields), created_at: now, updated_at: now, deleted: null }
  await records.db.insertInto('vendor_stage').values(row).execute()
  return toStage(row)
}

/** Lists the stages, the oldest first. */
export async function listStages(
  records: Records,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ total: number; items: Stage[] }> {
  const living = records.db.selectFrom('vendor_stage').where('deleted', 'is', null)
  const { total } = await living.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const rows = await living.selectAll().orderBy('id').limit(limit).offset(offset).execute()
  return { total, items: rows.map(toStage) }
}

/** Reads a stage. Throws NOT_FOUND. */
export async function readStage(records: Records, id: string): Promise<Stage> {
  const row = await records.db
    .selectFrom('vendor_stage')
    .selectAll()
    .where('id', '=', id)
    .where('deleted', 'is', null)
    .executeTakeFirst()
  if (row === undefined) throw unknownStage(id)
  return toStage(row)
}

/** Updates the given settings of a stage. Throws NOT_FOUND (stage or sales channel), INVALID_INPUT. */
export async function updateStage(
  records: Records,
  channels: readonly SalesChannel[],
  id: string,
  change: StageChange,
): Promise<Stage> {
  const sanitise = await loadSanitiser()
  return await records.db.transaction().execute(async (transaction) => {
    await saveChannels(transaction, channels)
    const within = { ...records, db: transaction }
    const current = await readStage(within, id)
    const { content, look, trigger, salesChannelId, ...others } = change
    const fields = {
      ...current,
      ...others,
      ...readWindow({ ...current, ...others }),
      ...(look === undefined ? {} : { look: readLook({ ...current.look, ...look }, originsOf(channels)) }),
      trigger: { ...current.trigger, ...trigger },
      ...(salesChannelId === undefined ? {} : { salesChannelId: knownChannel(channels, salesChannelId) }),
      ...(content === undefined ? {} : { content: sanitise(withContent(current.content, content)) }),
    }
    await transaction
      .updateTable('vendor_stage')
      .set({ ...toColumns(fields), updated_at: records.now() })
      .where('id', '=', current.id)
      .execute()
    return await readStage(within, id)
  })
}

/** Copies a stage, without its events. The copy is not active. Throws NOT_FOUND. */
export async function duplicateStage(records: Records, id: string, name: string | null): Promise<Stage> {
  const stage = await readStage(records, id)
  return await insertStage(records, {
    ...stage,
    name: name ?? `Copy of ${stage.name}`.slice(0, maxNameLength).toWellFormed(),
    active: false,
  })
}

/** Merges content. A new text replaces the HTML, and the other way round. */
function withContent(current: StageContent, change: Partial<StageContent>): StageContent {
  const html = typeof change.text === 'string' && change.html === undefined ? { html: null } : {}
  const text = typeof change.html === 'string' && change.text === undefined ? { text: null } : {}
  return { ...current, ...html, ...text, ...change }
}

/** The origins of the shop's pages. */
export function originsOf(channels: readonly SalesChannel[]): string[] {
  return channels.map(({ url }) => new URL(url).origin)
}

function knownChannel(channels: readonly SalesChannel[], id: string | null): string | null {
  if (id === null || channels.some((each) => each.id === id)) return id
  throw unknownChannel(id, channels)
}

export function unknownStage(id: string): PagecacheError {
  return new PagecacheError('NOT_FOUND', `There is no stage with the id ${id}.`, {
    hint: 'Run pagecache stage:list to see all stages.',
  })
}
