import type { RecordsDatabase } from '../records/schema.ts'

/** Takes back waiting messages whose key begins with a text, at most `limit` of them. How many there were. */
export async function withdraw(db: RecordsDatabase, keyPrefix: string, limit: number): Promise<number> {
  const waiting = db
    .selectFrom('queue_messages')
    .select('id')
    .where('key', '>=', keyPrefix)
    .where('key', '<', `${keyPrefix}\uffff`)
    .where('lease', 'is', null)
    .where('failed_at', 'is', null)
    .limit(limit)
  const { numDeletedRows } = await db.deleteFrom('queue_messages').where('id', 'in', waiting).executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
