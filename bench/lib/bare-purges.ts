/**
 * Program: the rival of purges. Writes, in groups, the rows that purges of tags with ten pages leave in the page index and in the
 * records, for one reverse proxy, with three durable commits per group. It looks up no page and serves no requests.
 * Arguments: number of purges, group size.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { openRecords } from '../../src/records/open.ts'
import { placesIn } from '../../src/pages/places.ts'
import { scratch } from '../../test/helpers/scratch.ts'
import { fillPages, pagesOfTag } from './fill-pages.ts'

const [count, group] = process.argv.slice(2).map(Number) as [number, number]
const { path: directory, discard } = await scratch('bare-purges')
fillPages(join(directory, 'cache'), count)
await (await openRecords({ directory: join(directory, 'data'), now: Date.now })).close()
const records = open(join(directory, 'data/records.sqlite'))
const index = open(placesIn(join(directory, 'cache')).index)
console.log(JSON.stringify({ perSecond: purgeAll() }))
records.close()
index.close()
await discard()

function open(file: string): Database.Database {
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  return database
}

function purgeAll(): number {
  const at = Date.now()
  const hour = Math.floor(at / 3_600_000)
  const first = index.prepare<[], number>('select min(id) from page').pluck().get()!
  const intent = records.prepare<[number, string, string]>(
    `insert into invalidations (created_at, source, actor, scope, value, soft, intent, owner) values (?, 'purge-method', '127.0.0.1', 'tags', ?, 0, ?, '{"host":"bench","pid":1}')`,
  )
  const hours = records.prepare(
    `insert into purge_hours (hour, purges, invalidations) values (?, ?, ?) on conflict (hour) do update set purges = purges + excluded.purges, invalidations = invalidations + excluded.invalidations`,
  )
  const removal = index.prepare(`insert into removal (at, kind, value) values (?, 'tags', ?)`)
  const dead = index.prepare('insert into dead (page_id, trace, value) values (?, ?, 0)')
  const trace = index.prepare('insert into trace (id, at) values (?, ?)')
  const stat = index.prepare(`update stat set count = count - ?, size = size - ? where type = 'products'`)
  const tag = records.prepare(
    'insert into purge_tags (tag, purges, last_hour, window_count) values (?, 1, ?, 1) on conflict (tag) do update set purges = purges + 1, window_count = window_count + 1',
  )
  const tagHour = records.prepare(
    'insert into purge_tag_hours (tag_id, hour, purges) values (?, ?, 1) on conflict (tag_id, hour) do update set purges = purges + 1',
  )
  const purge = records.prepare(
    `insert into purges (invalidation_id, created_at, source, kind, tag_id, soft, pages_removed) values (?, ?, 'purge-method', 'tag', ?, 0, ?)`,
  )
  const delivery = records.prepare(
    `insert into purge_deliveries (purge_id, proxy, status, created_at, kind, key, soft) values (?, 'varnish-1', 'pending', ?, 'tag', ?, 0)`,
  )
  const message = records.prepare(
    `insert into queue_messages (id, transport, type, payload, "key", available_at, created_at)
     values (?, 'async', 'purge.deliver', '{"proxy":"varnish-1"}', 'purge.deliver varnish-1', ?, ?) on conflict do nothing`,
  )
  const url = records.prepare(
    'insert into purge_urls (url, purges, last_purged_at) values (?, 1, ?) on conflict (url) do update set purges = purges + 1, last_purged_at = excluded.last_purged_at',
  )
  const page = records.prepare('insert into purge_pages (url_id, purge_id) values (?, ?)')
  const keyHours = records.prepare(
    'insert into purge_key_hours (kind, hour, keys) values (?, ?, ?) on conflict (kind, hour) do update set keys = keys + excluded.keys',
  )
  const done = records.prepare('update invalidations set pages_removed = ?, intent = null, owner = null where id = ?')

  const intend = records.transaction((numbers: number[]) => {
    hours.run(hour, 0, numbers.length)
    return numbers.map(
      (n) =>
        intent.run(at, `tag-${n}`, JSON.stringify([{ kind: 'tag', tag: `tag-${n}`, entity: null }])).lastInsertRowid,
    )
  })
  const remove = index.transaction((numbers: number[], ids: (number | bigint)[]) => {
    removal.run(at, JSON.stringify(numbers.map((n) => `tag-${n}`)))
    for (const [place, n] of numbers.entries()) {
      trace.run(Number(ids[place]) * 16, at)
      for (let each = 0; each < pagesOfTag; each += 1) dead.run(first + n * pagesOfTag + each, Number(ids[place]) * 16)
      stat.run(pagesOfTag, pagesOfTag * 5_000)
    }
  })
  const record = records.transaction((numbers: number[], ids: (number | bigint)[]) => {
    for (const [place, n] of numbers.entries()) {
      const { lastInsertRowid: tagId } = tag.run(`tag-${n}`, hour)
      tagHour.run(tagId, hour)
      const { lastInsertRowid: purgeId } = purge.run(ids[place], at, tagId, pagesOfTag)
      delivery.run(purgeId, at, `tag-${n}`)
      for (let each = 0; each < pagesOfTag; each += 1)
        page.run(url.run(urlOf(n * pagesOfTag + each), at).lastInsertRowid, purgeId)
      done.run(pagesOfTag, ids[place])
    }
    message.run(randomUUID(), at, at)
    hours.run(hour, numbers.length, 0)
    keyHours.run('tag', hour, numbers.length)
    keyHours.run('url', hour, numbers.length * pagesOfTag)
  })
  const started = performance.now()
  for (let next = 0; next < count; next += group) {
    const numbers = Array.from({ length: Math.min(group, count - next) }, (_, n) => next + n)
    const ids = intend.immediate(numbers)
    remove.immediate(numbers, ids)
    record.immediate(numbers, ids)
  }
  return (count / (performance.now() - started)) * 1000
}

function urlOf(n: number): string {
  return `http://shop.example/detail/${n.toString(16).padStart(32, '0')}`
}
