import Database from 'better-sqlite3'

/** The number of product tags, of URLs, and of days in the log. */
const tags = 10_000
const urls = 100_000
const days = 30

export function productId(number: number): string {
  return number.toString(16).padStart(32, '0')
}

/**
 * Fills empty records with purges, spread over the last days: 90 % by a product's tag, the others by URL. Two thirds of the tag purges
 * concern a tenth of the products. Each removed the pages of two URLs.
 */
export function fillLog(file: string, purges: number, now: number): void {
  const database = new Database(file)
  database.pragma('synchronous = OFF')
  database.pragma('cache_size = -200000')
  const start = now - days * 86_400_000
  const step = (days * 86_400_000) / purges
  const slice = 500_000
  database.function('product_id', { deterministic: true }, (number) => productId(Number(number)))
  database.exec(`
    CREATE TEMP TABLE n (n INTEGER PRIMARY KEY);
    WITH RECURSIVE c (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < ${slice - 1}) INSERT INTO n SELECT n FROM c;
    INSERT INTO purge_tags (id, tag, purges) SELECT n, 'product-' || product_id(n), 0 FROM n WHERE n BETWEEN 1 AND ${tags};
    INSERT INTO purge_entities (id, type, entity_id, purges) SELECT n, 'product', product_id(n), 0 FROM n WHERE n BETWEEN 1 AND ${tags};
    INSERT INTO purge_urls (id, url) SELECT n, 'http://shop.example/' || n FROM n WHERE n BETWEEN 1 AND ${urls};
  `)
  // Indexes are built at the end, from sorted rows: ten times faster than row by row.
  const indexes = database
    .prepare<[], { name: string; sql: string }>(
      `SELECT name, sql FROM sqlite_master WHERE name IN ('purge_pages_of_purge', 'purges_of_entity')`,
    )
    .all()
  for (const { name } of indexes) database.exec(`DROP INDEX ${name}`)
  for (let first = 0; first < purges; first += slice)
    fillSlice(database, first, Math.min(slice, purges - first), start, step)
  database.exec(`
    INSERT INTO purge_pages (url_id, purge_id)
      SELECT id * 104729 % ${urls} + 1, id FROM purges UNION SELECT id * 7 % ${urls} + 1, id FROM purges ORDER BY 1, 2`)
  for (const { sql } of indexes) database.exec(sql)
  sumUp(database)
  database.close()
}

/** SQL expressions for the columns of purge `n`, spread by multipliers that are coprime to their modulus. */
function fillSlice(database: Database.Database, first: number, count: number, start: number, step: number): void {
  const id = `(${first} + n + 1)`
  const at = `CAST(${start} + (${first} + n) * ${step} AS INTEGER)`
  const isTag = `${id} % 10 <> 0`
  const tag = `CASE WHEN ${id} % 3 = 0 THEN ${id} * 7919 % ${tags} ELSE ${id} * 7919 % ${tags / 10} END + 1`
  const url = `${id} * 104729 % ${urls} + 1`
  database.exec(`
    BEGIN;
    INSERT INTO invalidations (id, created_at, source, scope, value, pages_removed)
      SELECT ${id}, ${at}, 'purge-method', 'tags', 'product', 2 FROM n WHERE n < ${count} ORDER BY n;
    INSERT INTO purges (id, invalidation_id, created_at, source, kind, url_id, tag_id, entity_id, pages_removed, response_time)
      SELECT ${id}, ${id}, ${at}, 'purge-method', iif(${isTag}, 'tag', 'url'), iif(${isTag}, NULL, ${url}), iif(${isTag}, ${tag}, NULL),
        iif(${isTag}, ${tag}, NULL), 2, 1.5 FROM n WHERE n < ${count} ORDER BY n;
    INSERT INTO purge_deliveries (purge_id, proxy, status, attempts, response_time)
      SELECT ${id}, 'varnish-1', 'delivered', 1, 1.5 FROM n WHERE n < ${count} ORDER BY n;
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE);
  `)
}

/** Writes the sums that the program updates with each purge. */
function sumUp(database: Database.Database): void {
  database.exec(`
    BEGIN;
    INSERT INTO purge_hours (hour, purges, invalidations, responses, response_time)
      SELECT created_at / 3600000, count(*), count(*), count(*), count(*) * 1.5 FROM purges GROUP BY 1;
    INSERT INTO purge_tag_hours (tag_id, hour, purges)
      SELECT tag_id, created_at / 3600000, count(*) FROM purges WHERE tag_id IS NOT NULL GROUP BY 1, 2;
    UPDATE purge_tags SET purges = h.purges, last_hour = h.hour
      FROM (SELECT tag_id, sum(purges) AS purges, max(hour) AS hour FROM purge_tag_hours GROUP BY 1) h WHERE h.tag_id = id;
    UPDATE purge_tags SET window_count =
      (SELECT coalesce(sum(h.purges), 0) FROM purge_tag_hours h WHERE h.tag_id = id AND h.hour > last_hour - 24);
    UPDATE purge_entities SET purges = (SELECT t.purges FROM purge_tags t WHERE t.id = purge_entities.id);
    UPDATE purge_urls SET purges = u.purges, last_purged_at = u.at
      FROM (SELECT g.url_id, count(*) AS purges, max(p.created_at) AS at FROM purge_pages g JOIN purges p ON p.id = g.purge_id GROUP BY 1) u
      WHERE u.url_id = id;
    INSERT INTO purge_key_hours (kind, hour, keys) SELECT 'tag', last_hour, count(*) FROM purge_tags WHERE last_hour >= 0 GROUP BY 2;
    INSERT INTO purge_key_hours (kind, hour, keys)
      SELECT 'url', last_purged_at / 3600000, count(*) FROM purge_urls WHERE last_purged_at > 0 GROUP BY 2;
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE);
  `)
}
