import { uuidv7 } from '../../lib/uuid.ts'

/** Makes a UUID with the log and the row number in place of the random bits. */
function idIn(log: number, at: number, number: number): string {
  const bits = Buffer.alloc(10)
  bits[2] = log
  bits.writeUIntBE(number, 4, 6)
  return uuidv7(at, bits)
}

/** The public id of an invalidation: a UUID of version 7 made from its time and row number. It needs no column and no index. */
export function invalidationIdOf(row: { created_at: number; id: number }): string {
  return idIn(1, row.created_at, row.id)
}

/** The public id of a purge: a UUID of version 7 made from its time and row number. */
export function purgeIdOf(row: { created_at: number; id: number }): string {
  return idIn(2, row.created_at, row.id)
}
