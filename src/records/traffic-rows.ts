/** The tables of visitors' traffic. */
export interface TrafficTables {
  traffic_minutes: TrafficRow
  traffic_hours: TrafficRow
  traffic_misses: TrafficMissRow
}

/** The columns of a latency histogram: the requests between two bounds, not cumulative. */
export const latencyColumns = [
  'b0',
  'b1',
  'b2',
  'b3',
  'b4',
  'b5',
  'b6',
  'b7',
  'b8',
  'b9',
  'b10',
  'b11',
  'b12',
  'b13',
  'b14',
] as const
export const statusColumns = ['status_1xx', 'status_2xx', 'status_3xx', 'status_4xx', 'status_5xx'] as const

/** The columns with amounts, which add up. */
export const amountColumns = [
  'requests',
  ...statusColumns,
  'bytes',
  'origin_us',
  'served_us',
  ...latencyColumns,
] as const
export type TrafficAmounts = Record<(typeof amountColumns)[number], number>

/** The requests of a minute or an hour (UTC) by sales channel, page type and result. Amounts of time in microseconds. */
export interface TrafficRow extends TrafficAmounts {
  /** Minutes or hours since the epoch. */
  start: number
  channel_id: string
  type: string
  result: string
}

/** The most frequent misses of an hour (UTC). */
export interface TrafficMissRow {
  /** Hours since the epoch. */
  hour: number
  channel_id: string
  path: string
  reason: string
  requests: number
  /** Microseconds. */
  origin_us: number
}
