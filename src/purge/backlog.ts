import type { RecordsDatabase } from '../records/schema.ts'

/** What a reverse proxy was not told yet, and what it never will be. */
export interface ProxyBacklog {
  proxy: string
  pending: number
  failed: number
}

/** The purges that are not delivered, by reverse proxy; those of `proxies` without any too. Reads only what is open or failed. */
export async function readBacklog(db: RecordsDatabase, proxies: readonly string[]): Promise<ProxyBacklog[]> {
  const count = async (status: 'pending' | 'failed') => {
    const rows = await db
      .selectFrom('purge_deliveries')
      .select(({ fn }) => ['proxy', fn.countAll<number>().as('count')])
      .where('status', '=', status)
      .groupBy('proxy')
      .execute()
    return new Map(rows.map((row) => [row.proxy, Number(row.count)]))
  }
  const [pending, failed] = [await count('pending'), await count('failed')]
  const names = new Set([...proxies, ...pending.keys(), ...failed.keys()])
  return [...names].map((proxy) => ({ proxy, pending: pending.get(proxy) ?? 0, failed: failed.get(proxy) ?? 0 }))
}

/** How many purges and invalidations were recorded since the logs were last cleared: ids count up. */
export async function readPurgeTotals(db: RecordsDatabase): Promise<{ purges: number; invalidations: number }> {
  const last = async (table: 'purges' | 'invalidations') => {
    const row = await db.selectFrom(table).select(({ fn }) => fn.max('id').as('last')).executeTakeFirst()
    return Number(row?.last ?? 0)
  }
  return { purges: await last('purges'), invalidations: await last('invalidations') }
}
