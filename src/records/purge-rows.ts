import type { Generated } from 'kysely'

/** The tables of the purge log and the invalidation log. An hour is counted from the epoch. */
export interface PurgeTables {
  invalidations: InvalidationRow
  purges: PurgeRow
  purge_deliveries: PurgeDeliveryRow
  purge_pages: PurgePageRow
  purge_urls: PurgeUrlRow
  purge_tags: PurgeTagRow
  purge_tag_hours: PurgeTagHourRow
  purge_entities: PurgeEntityRow
  purge_hours: PurgeHourRow
  purge_key_hours: PurgeKeyHourRow
}

/** One request to drop pages. */
interface InvalidationRow {
  /** Counts up; the ids of the contract are made from it (src/purge/log/log-id.ts). */
  id: Generated<number>
  created_at: number
  source: string
  actor: string | null
  scope: string
  /** What it names, as text to be read. */
  value: string | null
  soft: number
  pages_removed: Generated<number>
  /** What is still to be done, as JSON; null once it is done and recorded. */
  intent: string | null
  /** Which process does it, as JSON. */
  owner: string | null
  /** The numbers of the purges that were recorded already, as a JSON list in the order of the keys, where that takes more than one transaction. */
  recorded: string | null
  /** Where the URLs of its pages are still to be read from, as JSON; null where all are recorded. */
  trace: string | null
  /** The last page that was read of what comes first in `trace`. */
  traced: Generated<number>
}

export type PurgeKindColumn = 'url' | 'tag' | 'entity' | 'type' | 'all' | 'pattern'

/** One key purged because of an invalidation. Rows are numbered in the order in which they must reach a proxy. */
export interface PurgeRow {
  id: Generated<number>
  invalidation_id: number
  created_at: number
  source: string
  kind: PurgeKindColumn
  /** Of `purge_urls`, where the key is a URL. */
  url_id: number | null
  /** Of `purge_tags`, where the key is a tag: kinds `tag` and `entity`. */
  tag_id: number | null
  /** Of `purge_entities`, where the key names one. */
  entity_id: number | null
  /** The type, the regular expression over path and query, or what was cleared together with all pages. */
  value: string | null
  soft: number
  pages_removed: number
  /** Milliseconds: of the slowest reverse proxy, or of the local purge where no other is configured; null while none has answered. */
  response_time: number | null
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed'

/**
 * What one reverse proxy is to be told of a purge, or has acknowledged. A row that is not delivered stands by itself: its purge may
 * have left the log. A delivered one goes with its purge.
 */
export interface PurgeDeliveryRow {
  purge_id: number
  proxy: string
  status: DeliveryStatus
  /** When the purge was made, and what it is. Null in rows of a daemon of an older version that still runs: then it stands for everything. */
  created_at: number | null
  kind: PurgeKindColumn | null
  /** A tag, an absolute URL, a regular expression; null where the kind says it all, and once it is delivered. */
  key: string | null
  soft: Generated<number>
  attempts: Generated<number>
  /** Milliseconds. */
  response_time: number | null
  error: string | null
}

/** A URL whose page a purge took, or that it named. */
interface PurgePageRow {
  url_id: number
  purge_id: number
}

interface PurgeUrlRow {
  id: Generated<number>
  url: string
  /** Rows of `purge_pages`. */
  purges: Generated<number>
  last_purged_at: Generated<number>
}

interface PurgeTagRow {
  id: Generated<number>
  tag: string
  /** Rows of `purges`. */
  purges: Generated<number>
  last_hour: Generated<number>
  /** Purges in the 25 hours that end with `last_hour`: as many as 24 hours to the minute can touch. */
  window_count: Generated<number>
}

/** Purges of a tag in one hour. */
interface PurgeTagHourRow {
  tag_id: number
  hour: number
  purges: number
}

interface PurgeEntityRow {
  id: Generated<number>
  type: string
  entity_id: string
  /** The product number that a purge carried. */
  number: string | null
  /** Rows of `purges`. */
  purges: Generated<number>
}

/** What happened in one hour. */
interface PurgeHourRow {
  hour: number
  purges: Generated<number>
  invalidations: Generated<number>
  /** Purges with a response time, and the sum of those times in milliseconds. */
  responses: Generated<number>
  response_time: Generated<number>
}

/** How many URLs or tags were purged for the last time in an hour. */
interface PurgeKeyHourRow {
  kind: 'url' | 'tag'
  hour: number
  keys: number
}
