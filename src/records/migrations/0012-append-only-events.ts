import { sql } from 'kysely'
import type { Migration } from '../migrate.ts'

/**
 * Refuses an INSERT of an existing event. The UPDATE trigger does not fire for INSERT OR REPLACE, and a DELETE trigger fires for it only on
 * connections with `recursive_triggers`; BEFORE INSERT fires before every conflict clause, on every connection.
 */
export const appendOnlyEvents: Migration = {
  name: '0012-append-only-events',
  async up(db) {
    await sql`
      create trigger vendor_stage_event_insert_only before insert on vendor_stage_event
      when exists (select 1 from vendor_stage_event where id = new.id)
      begin select raise(abort, 'an event is never changed; only its customer may be forgotten'); end`.execute(db)
  },
}
