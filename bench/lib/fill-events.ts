import Database from 'better-sqlite3'

/** Inserts events spread over three years, and their sums, directly into the database: the tracker would be too slow. */
export function fillEvents(file: string, stage: string, events: number): void {
  const database = new Database(file, { timeout: 10_000 })
  database.pragma('synchronous = OFF')
  const span = 3 * 365 * 86_400_000
  const first = Date.now() - span
  const types =
    "case number % 10 when 0 then 'cta_click' when 1 then 'close' when 2 then 'permanent_dismiss' else 'impression' end"
  const portion = 250_000
  database.exec("insert into sales_channel values ('bench', 'Bench', 'http://bench.example')")
  const insert = database.prepare(
    `insert into vendor_stage_event (id, popup_id, event_type, sales_channel_id, created_at)
     with recursive numbers (number) as (select cast(? as integer) union all select number + 1 from numbers where number < ?)
     select printf('%012x-%08x', ${first} + number * ${span} / ${events}, number), ?, ${types}, 'bench', ${first} + number * ${span} / ${events} from numbers`,
  )
  for (let from = 0; from < events; from += portion) insert.run(from, Math.min(events, from + portion) - 1, stage)
  database.prepare('delete from vendor_stage_rollup').run()
  const count = (type: string) => `sum(event_type = '${type}')`
  database.exec(
    `insert into vendor_stage_rollup select popup_id, created_at / 3600000 as hour, ${['impression', 'cta_click', 'close', 'permanent_dismiss'].map(count).join()}
     from vendor_stage_event group by popup_id, hour`,
  )
  database.close()
}
