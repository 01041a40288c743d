import type { RecordsDatabase } from '../../records/schema.ts'
import { circuitState, closed, type CircuitState } from './circuit.ts'
import { readBacklogs, type ProxyBacklog } from '../log/statistics.ts'

/** `ok`: it has taken every purge, or is about to. `behind`: purges have waited for long, or were given up. `down`: it does not answer. */
type ProxyCondition = 'ok' | 'behind' | 'down'

/** How a reverse proxy stands. Times in ISO 8601. */
export interface ProxyState extends ProxyBacklog {
  state: ProxyCondition
  circuit: CircuitState
  /** Attempts in a row that came to nothing, and since when. */
  failures: number
  failingSince: string | null
  lastError: string | null
  lastErrorAt: string | null
  lastDeliveredAt: string | null
}

/** A purge that waits for longer than this means that nobody delivers, or that there are too many (milliseconds). */
const patience = 30_000

/** How each reverse proxy stands: the configured ones, and those that purges still wait for. `now` in milliseconds since the epoch. */
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
  const late = oldestPending !== null && now - Date.parse(oldestPending) > patience
  return late || failed > 0 ? 'behind' : 'ok'
}

function toText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
