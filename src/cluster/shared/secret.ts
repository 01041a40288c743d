import { randomBytes } from 'node:crypto'
import type { RecordsDatabase } from '../../records/schema.ts'

const name = 'shared pages'

/** The secret with which all nodes of a database seal shared pages; creates it if there is none. */
export async function sharedSecret(db: RecordsDatabase): Promise<Buffer> {
  const read = () => db.selectFrom('cluster_secrets').select('value').where('name', '=', name).executeTakeFirst()
  const known = await read()
  if (known !== undefined) return Buffer.from(known.value, 'base64url')
  const value = randomBytes(32).toString('base64url')
  // Of several nodes that start at once, one creates it.
  await db
    .insertInto('cluster_secrets')
    .values({ name, value })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return Buffer.from((await read())!.value, 'base64url')
}
