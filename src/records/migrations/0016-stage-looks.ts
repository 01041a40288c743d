import type { Migration } from '../migrate.ts'

/** Time window, appearance and trigger of a popup stage. Earlier stages have no limit and the defaults. */
export const stageLooks: Migration = {
  name: '0016-stage-looks',
  async up(db) {
    await db.schema.alterTable('vendor_stage').addColumn('starts_at', 'bigint').execute()
    await db.schema.alterTable('vendor_stage').addColumn('ends_at', 'bigint').execute()
    await db.schema.alterTable('vendor_stage').addColumn('look', 'text').execute()
    await db.schema.alterTable('vendor_stage').addColumn('opens', 'text').execute()
  },
}
