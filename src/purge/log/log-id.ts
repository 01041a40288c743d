import { uuidv7 } from '../../lib/uuid.ts'

/** Where the random bits of a UUID would be: which log it is of, and the number in it. */
function idIn(log: number, at: number, number: number): string {
  const bits = Buffer.alloc(10)
  bits[2] = log
  bits.writeUIntBE(number, 4, 6)
  return uuidv7(at, bits)
}

/**
 * The id by which the outside knows an invalidation: a UUID of version 7, made from its time and its number. It needs
 * no room in the tables and no index.
 */
export function invalidationIdOf(row: { created_at: number; id: number }): string {
  return idIn(1, row.created_at, row.id)
}

/** The same for a purge. */
export function purgeIdOf(row: { created_at: number; id: number }): string {
  return idIn(2, row.created_at, row.id)
}
