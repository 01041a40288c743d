import type { RecordsDatabase } from '../records/schema.ts'
import { circuitState, closed, type CircuitState } from './deliver-circuit.ts'

/** `ok`: it has taken every purge, or is about to. `behind`: purges have waited for long, or were given up. `down`: it does not answer. */
export type ProxyCondition = 'ok' | 'behind' | 'down'

/** How a reverse proxy stands. Times in milliseconds since the epoch. */
export interface ProxyState {
  name: string
  state: ProxyCondition
  /** Purges that it has still to be told of, and those that were given up. */
  pending: number
  failed: number
  /** Since when the oldest of the waiting ones has waited. */
  pendingSince: number | null
  circuit: CircuitState
  /** Attempts in a row that came to nothing, and since when. */
  failures: number
  failingSince: number | null
  lastError: string | null
  lastFailureAt: number | null
  lastDeliveryAt: number | null
}

/** A purge that waits for longer than this means that nobody delivers, or that there are too many (milliseconds). */
const patience = 30_000

/** How each of the named proxies stands. */
export async function readProxyStates(db: RecordsDatabase, proxies: readonly { name: string }[], now: number): Promise<ProxyState[]> {
  const states: ProxyState[] = []
  for (const { name } of proxies) states.push(await readProxyState(db, name, now))
  return states
}

async function readProxyState(db: RecordsDatabase, name: string, now: number): Promise<ProxyState> {
  const row = await db.selectFrom('reverse_proxy_states').selectAll().where('name', '=', name).executeTakeFirst()
  const circuit = row === undefined ? closed : { failures: row.failures, failingSince: row.failing_since, openUntil: row.open_until }
  const pending = await count(db, name, 'pending')
  const failed = await count(db, name, 'failed')
  const pendingSince = pending === 0 ? null : await oldest(db, name)
  const late = pendingSince !== null && now - pendingSince > patience
  return {
    name,
    state: circuit.failures > 0 ? 'down' : late || failed > 0 ? 'behind' : 'ok',
    pending,
    failed,
    pendingSince,
    circuit: circuitState(circuit, now),
    failures: circuit.failures,
    failingSince: circuit.failingSince,
    lastError: row?.last_error ?? null,
    lastFailureAt: row?.last_failure_at ?? null,
    lastDeliveryAt: row?.last_delivery_at ?? null,
  }
}

async function count(db: RecordsDatabase, proxy: string, status: 'pending' | 'failed'): Promise<number> {
  const row = await db
    .selectFrom('purge_deliveries')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('proxy', '=', proxy)
    .where('status', '=', status)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

async function oldest(db: RecordsDatabase, proxy: string): Promise<number | null> {
  const row = await db
    .selectFrom('purge_deliveries')
    .innerJoin('purges', 'purges.id', 'purge_deliveries.purge_id')
    .select('purges.created_at')
    .where('purge_deliveries.proxy', '=', proxy)
    .where('purge_deliveries.status', '=', 'pending')
    .orderBy('purge_deliveries.purge_id')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at ?? null
}
