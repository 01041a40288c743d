/** The tables of the delivery of purges. Times are milliseconds since the epoch. */
export interface DeliverTables {
  reverse_proxy_states: ReverseProxyStateRow
}

/** How a reverse proxy has answered lately, as all workers know it (src/purge/deliver/circuit.ts). */
interface ReverseProxyStateRow {
  name: string
  /** Attempts in a row that failed. */
  failures: number
  failing_since: number | null
  open_until: number | null
  /** Of the last attempt that failed; kept when it answers again. */
  last_error: string | null
  last_failure_at: number | null
  last_delivery_at: number | null
}
