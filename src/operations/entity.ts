import type { App } from '../app.ts'
import { PagecacheError } from '../errors.ts'
import { entityTypes, normaliseEntityId, type EntityType } from '../purge/entities.ts'

export { entityTypes, type EntityType }

export interface NamedEntity {
  type: EntityType
  id: string
  number: string | null
}

/**
 * Finds the entity that an input names. Returns null if it names none, and `unknown` for a product number that no purge has carried.
 *
 * @throws INVALID_INPUT if type, id and number do not fit together
 */
export async function findEntity(
  app: App,
  input: { entityType?: EntityType | undefined; entityId?: string | undefined; entityNumber?: string | undefined },
): Promise<NamedEntity | 'unknown' | null> {
  const { entityType: type, entityId, entityNumber: number } = input
  if (type === undefined) {
    if (entityId !== undefined || number !== undefined)
      throw new PagecacheError('INVALID_INPUT', 'entityType: expected with entityId or entityNumber')
    return null
  }
  if (number !== undefined && type !== 'product')
    throw new PagecacheError('INVALID_INPUT', 'entityNumber: only products have a number')
  if (entityId !== undefined) {
    const id = normaliseEntityId(entityId)
    if (id === null)
      throw new PagecacheError('INVALID_INPUT', `entityId: ${JSON.stringify(entityId.slice(0, 80))} is not an id`, {
        hint: 'An id is a UUID, with or without dashes.',
      })
    return { type, id, number: number ?? null }
  }
  if (number === undefined)
    throw new PagecacheError(
      'INVALID_INPUT',
      type === 'product' ? 'entityId: expected an id, unless entityNumber is given' : 'entityId: expected an id',
    )
  const { findByNumber } = await import('../purge/log/purge-log.ts')
  const { db } = await app.records()
  const found = await findByNumber(db, type, number)
  return found === null ? 'unknown' : { ...found, number }
}
