import type { Migration } from '../migrate.ts'
import { refuseReplacements } from './per-database.ts'

/**
 * Refuses an INSERT of an existing event. The UPDATE trigger does not fire for INSERT OR REPLACE, and a DELETE trigger fires for it only on
 * connections with `recursive_triggers`; BEFORE INSERT fires before every conflict clause, on every connection.
 */
export const appendOnlyEvents: Migration = {
  name: '0012-append-only-events',
  async up(db) {
    await refuseReplacements(db)
  },
}
