import type { Generated } from 'kysely'

/** The tables of the purge log and the invalidation log. Hours are numbered from the epoch. */
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

/** One request to invalidate pages. */
interface InvalidationRow {
  /** Row number; the public id is made from it (src/purge/log/log-id.ts). */
  id: Generated<number>
  created_at: number
  source: string
  actor: string | null
  scope: string
  /** The keys as readable text. */
  value: string | null
  soft: number
  pages_removed: Generated<number>
  /** The keys to purge, as JSON; null once it is carried out and recorded. */
  intent: string | null
  /** The process that carries it out, as JSON. */
  owner: string | null
  /** Row numbers of the purges recorded so far, as a JSON list in the order of the keys, if that takes more than one transaction. */
  recorded: string | null
  /** The traces whose URLs are still to be recorded, as JSON; null once all are. */
  trace: string | null
  /** The id of the last page read from the first trace. */
  traced: Generated<number>
  unconfirmed: Generated<string | null>
}

export type PurgeKindColumn = 'url' | 'tag' | 'entity' | 'type' | 'all' | 'pattern'

/** One key purged by an invalidation. Row numbers give the order of delivery. */
export interface PurgeRow {
  id: Generated<number>
  invalidation_id: number
  created_at: number
  source: string
  kind: PurgeKindColumn
  /** Row in `purge_urls`, if the key is a URL. */
  url_id: number | null
  /** Row in `purge_tags`, for the kinds `tag` and `entity`. */
  tag_id: number | null
  /** Row in `purge_entities`, if the key names an entity. */
  entity_id: number | null
  /** The page type, the regular expression over path and query, or what else was cleared with all pages. */
  value: string | null
  /** 0: removed the pages; 1: marked them as stale, by request; 2: because of the purge budget. */
  soft: number
  pages_removed: number
  /** Milliseconds of the slowest reverse proxy, or of the local removal if no proxy is configured; null until the first response. */
  response_time: number | null
  /** Names of nodes that had no lease, as a JSON list; null for none. They may have served the pages for a while after the purge. */
  unconfirmed: string | null
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed'

/**
 * The delivery of a purge to one reverse proxy. An undelivered row may outlive its purge in the log; a delivered row is deleted with its
 * purge.
 */
export interface PurgeDeliveryRow {
  purge_id: number
  proxy: string
  status: DeliveryStatus
  /** When the purge was made. Null, like `kind`, in rows of an older daemon that is still running: then everything is purged. */
  created_at: number | null
  kind: PurgeKindColumn | null
  /** A tag, an absolute URL or a regular expression; null for the kinds `all` and `type`, and after delivery. */
  key: string | null
  soft: Generated<number>
  attempts: Generated<number>
  /** Milliseconds. */
  response_time: number | null
  error: string | null
}

/** A URL whose page a purge removed, or that the purge named. */
interface PurgePageRow {
  url_id: number
  purge_id: number
}

interface PurgeUrlRow {
  id: Generated<number>
  url: string
  /** Number of rows in `purge_pages`. */
  purges: Generated<number>
  last_purged_at: Generated<number>
}

interface PurgeTagRow {
  id: Generated<number>
  tag: string
  /** Number of rows in `purges`. */
  purges: Generated<number>
  last_hour: Generated<number>
  /** Purges in the 25 clock hours up to `last_hour`: all hours that a window of exactly 24 hours can touch. */
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
  /** Number of rows in `purges`. */
  purges: Generated<number>
}

/** Sums of one hour. */
interface PurgeHourRow {
  hour: number
  purges: Generated<number>
  invalidations: Generated<number>
  /** Number of purges with a response time; `response_time` is the sum of these times in milliseconds. */
  responses: Generated<number>
  response_time: Generated<number>
}

/** The number of URLs or tags whose last purge was in an hour. */
interface PurgeKeyHourRow {
  kind: 'url' | 'tag'
  hour: number
  keys: number
}
