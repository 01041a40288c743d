import type { Migration } from '../migrate.ts'

/** Which client created or revoked a client over the HTTP API. Earlier clients count as created on the command line. */
export const clientMakers: Migration = {
  name: '0010-client-makers',
  async up(db) {
    await db.schema.alterTable('api_clients').addColumn('created_by', 'text').execute()
    await db.schema.alterTable('api_clients').addColumn('revoked_by', 'text').execute()
    await db.schema.createIndex('api_clients_by_maker').on('api_clients').column('created_by').execute()
    await db.schema.createIndex('api_clients_by_time').on('api_clients').columns(['created_at', 'id']).execute()
  },
}
