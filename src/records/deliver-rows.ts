/** The tables of purge delivery. Times are milliseconds since the epoch. */
export interface DeliverTables {
  reverse_proxy_states: ReverseProxyStateRow
}

/** The circuit breaker of a reverse proxy, shared by all workers (src/purge/deliver/circuit.ts). */
interface ReverseProxyStateRow {
  name: string
  /** Consecutive failed attempts. */
  failures: number
  failing_since: number | null
  open_until: number | null
  /** The error of the last failed attempt; kept after the proxy has recovered. */
  last_error: string | null
  last_failure_at: number | null
  last_delivery_at: number | null
}
