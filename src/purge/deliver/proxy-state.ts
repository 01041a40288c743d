import type { RecordsDatabase } from '../../records/schema.ts'
import { circuitState, closed, type CircuitState } from './circuit.ts'
import { readBacklogs, type ProxyBacklog } from '../log/statistics.ts'

/** `ok`: no purge is overdue. `behind`: purges are overdue or have failed. `down`: the last attempt failed. */
type ProxyCondition = 'ok' | 'behind' | 'down'

/** The delivery state of one reverse proxy. Times in ISO 8601. */
export interface ProxyState extends ProxyBacklog {
  state: ProxyCondition
  circuit: CircuitState
  /** Consecutive failed attempts. */
  failures: number
  failingSince: string | null
  lastError: string | null
  lastErrorAt: string | null
  lastDeliveredAt: string | null
}

/** A purge pending for longer than this is overdue: no worker is running, or the backlog is too large (milliseconds). */
const overdueAfter = 30_000

/** Reads the state of the configured reverse proxies and of those with undelivered purges. `now` in milliseconds since the epoch. */
export async function readProxyStates(
  db: RecordsDatabase,
  configured: readonly string[],
  now: number,
): Promise<ProxyState[]> {
  const rows = await db.selectFrom('reverse_proxy_states').selectAll().execute()
  return (await readBacklogs(db, configured)).map((backlog) => {
    const row = rows.find(({ name }) => name === backlog.name)
    const circuit =
      row === undefined
        ? closed
        : { failures: row.failures, failingSince: row.failing_since, openUntil: row.open_until }
    return {
      ...backlog,
      state: conditionOf(backlog, circuit.failures, now),
      circuit: circuitState(circuit, now),
      failures: circuit.failures,
      failingSince: toText(circuit.failingSince),
      lastError: row?.last_error ?? null,
      lastErrorAt: toText(row?.last_failure_at ?? null),
      lastDeliveredAt: toText(row?.last_delivery_at ?? null),
    }
  })
}

function conditionOf({ oldestPending, failed }: ProxyBacklog, failures: number, now: number): ProxyCondition {
  if (failures > 0) return 'down'
  const overdue = oldestPending !== null && now - Date.parse(oldestPending) > overdueAfter
  return overdue || failed > 0 ? 'behind' : 'ok'
}

function toText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
